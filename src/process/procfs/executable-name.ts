import { readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** Reads the name of the program that a process runs; `null` if it has ended, or is another user's. */
export function readExecutableName(pid: number): string | null {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`));
  } catch {
    return null;
  }
}
