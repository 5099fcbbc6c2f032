import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import type { LoadOptions } from '../../index.js';

/** Asks at the terminal, if there is one, for the passphrase of an encrypted key that has none in the options. */
export async function askPassphrase(options: LoadOptions): Promise<void> {
  if (options.certFile === undefined || options.passphrase !== undefined) return;
  if (!process.stderr.isTTY) return;
  const { isEncrypted } = await import('../../load/input/certificates.js');
  const file = options.keyFile ?? options.certFile;
  const typed = isEncrypted(file) ? readHidden(`Passphrase of ${file}: `) : null;
  if (typed !== null) options.passphrase = typed;
}

/**
 * Reads a line without showing it. It reads the terminal itself, as stdin may be a body; returns `null` without a
 * terminal.
 */
function readHidden(question: string): string | null {
  const terminal = openTerminal();
  if (terminal === null) return null;
  const stty = (setting: string) =>
    execFileSync('stty', [setting], { stdio: [terminal, 'ignore', 'ignore'] });
  const bytes: number[] = [];
  const one = Buffer.alloc(1);
  try {
    stty('-echo');
    writeSync(terminal, question);
    while (readSync(terminal, one) > 0 && one[0] !== 10) bytes.push(one[0] ?? 0);
    return Buffer.from(bytes).toString('utf8');
  } finally {
    stty('echo');
    writeSync(terminal, '\n');
    closeSync(terminal);
  }
}

/** Returns `null` for a process without a controlling terminal. */
function openTerminal(): number | null {
  try {
    return openSync('/dev/tty', 'r+');
  } catch {
    return null;
  }
}
