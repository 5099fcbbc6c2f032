import { readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { readText } from '../procfs/procfs.js';

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
