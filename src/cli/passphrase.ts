import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import type { LoadOptions } from '../index.js';

/** Asks at the terminal for the passphrase of a key that is encrypted, if none is given and there is a terminal. */
export async function askPassphrase(options: LoadOptions): Promise<void> {
  const { cert, key, passphrase } = options;
  if (cert === undefined || passphrase !== undefined || !process.stderr.isTTY) return;
  const { lockedFile } = await import('../load/input/certificates.js');
  const file = lockedFile({ cert, key });
  if (file !== null) options.passphrase = readHidden(`Passphrase of ${file}: `);
}

/** Reads a line from the terminal itself, as standard input may hold a body, without showing it. */
function readHidden(question: string): string {
  const terminal = openSync('/dev/tty', 'r+');
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
