import { readFileSync, statSync } from 'node:fs';
import { usageError } from '../../errors.js';
import { fileErrorReason } from '../../file-errors.js';

const STDIN = 0;

/** The bytes of pipes, which can be read only once: a plan is built a second time when a command's port is known. */
const pipeContents = new Map<string, Buffer>();

/** Reads a file of the user, `-` for standard input; `what` names its purpose in an error message. */
export function readInput(path: string, what: string): Buffer {
  try {
    const known = pipeContents.get(path);
    if (known) return known;
    const isStdin = path === '-';
    const bytes = readFileSync(isStdin ? STDIN : path);
    if (isStdin || statSync(path).isFIFO()) pipeContents.set(path, bytes);
    return bytes;
  } catch (error) {
    throw usageError(`${what} '${path}' cannot be read: ${fileErrorReason(error)}`);
  }
}
