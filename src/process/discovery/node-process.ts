import { readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { readText } from '../procfs/procfs.js';

/** Reads the name of a process's program; `null` if it cannot be read, as for another user's process. */
export function readProgramName(pid: number): string | null {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, ''));
  } catch {
    return null;
  }
}

/** Whether a process runs Node.js; `null` if unknown. */
export function isNode(pid: number): boolean | null {
  const program = readProgramName(pid);
  if (program !== null) return program.includes('node');
  const [first = ''] = readText(`/proc/${pid}/cmdline`)?.split('\0') ?? [];
  // The kernel's own threads have no command line.
  if (first === '') return false;
  // A program can change its title, so only a title with the name of Node.js is conclusive.
  return basename(first).includes('node') || null;
}
