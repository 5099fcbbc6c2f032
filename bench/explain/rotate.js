import { fstatSync, ftruncateSync } from 'node:fs';

/** Empties the standard output if it is a file, like a log rotation. */
export function rotate() {
  if (fstatSync(1).isFile()) ftruncateSync(1);
}
