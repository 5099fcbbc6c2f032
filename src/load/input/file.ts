import { readFileSync, statSync } from 'node:fs';
import { usageError } from '../../errors.js';
import { fileErrorReason } from '../../file-errors.js';

const STDIN = 0;

/** What came through pipes, which give it once: a plan may be made a second time, when a command's port is known. */
const fromPipes = new Map<string, Buffer>();

/** The bytes of a file that the user named, `-` for standard input; `what` says in a message what the file is for. */
export function readInput(path: string, what: string): Buffer {
  try {
    const known = fromPipes.get(path);
    if (known) return known;
    const isStdin = path === '-';
    const bytes = readFileSync(isStdin ? STDIN : path);
    if (isStdin || statSync(path).isFIFO()) fromPipes.set(path, bytes);
    return bytes;
  } catch (error) {
    throw usageError(`${what} '${path}' cannot be read: ${fileErrorReason(error)}`);
  }
}
