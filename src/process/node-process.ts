import { execFileSync } from 'node:child_process';
import { readlinkSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { readText } from './procfs.js';

const PATIENCE_MS = 2000;

/** The name of the program that a process runs; `null` if it may not be known: another user's tells it only by its own account. */
export function programOf(pid: number): string | null {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, ''));
  } catch {
    return null;
  }
}

/** Whether a process runs Node; `null` if that may not be known. */
export function isNode(pid: number): boolean | null {
  const program = programOf(pid);
  if (program !== null) return program.includes('node');
  const [first = ''] = readText(`/proc/${pid}/cmdline`)?.split('\0') ?? [];
  // The kernel's own threads have none.
  if (first === '') return false;
  // A program can give itself another title: only one of Node says something.
  return basename(first).includes('node') || null;
}

/** As in `v20.20.2`; `null` if the program cannot be asked. */
export function nodeVersion(pid: number): string | null {
  const program = `/proc/${pid}/exe`;
  if (programOf(pid) === null) return null;
  try {
    if (readlinkSync(program) === process.execPath) return process.version;
    if (!/^node(js)?$/.test(programOf(pid) ?? '') || !isTrusted(program)) return null;
    const output = execFileSync(program, ['--version'], {
      env: {},
      timeout: PATIENCE_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return /^v\d+\.\d+\.\d+\S*/.exec(output.toString())?.[0] ?? null;
  } catch {
    // Built for another C library, or gone.
    return null;
  }
}

/** A program that another user could have written is not run. */
function isTrusted(path: string): boolean {
  return [0, process.geteuid?.()].includes(statSync(path).uid);
}
