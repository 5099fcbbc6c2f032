import { readFileSync, statSync } from 'node:fs';
import { fileErrorReason } from '../../errors/file-errors.js';
import { MillraceError, usageError } from '../../errors/millrace-error.js';
import { isStandardInput, readStandardInput } from '../../files/standard-input.js';
import { findProvided, noteInput } from './provided.js';

/** The bytes of pipes, which can be read only once: a plan is built a second time when a command's port is known. */
const pipeContents = new Map<string, Buffer>();

/**
 * Reads a file of the user, `-` for standard input; `what` names its purpose in an error message. `once`: the purpose does
 * not ask a second time.
 */
export function readInput(path: string, what: string, { once = false } = {}): Buffer {
  const bytes = findProvided(path) ?? readHere(path, what, once);
  noteInput(path, bytes);
  return bytes;
}

function readHere(path: string, what: string, once: boolean): Buffer {
  try {
    if (isStandardInput(path)) return readStandardInput(what, { once });
    const known = pipeContents.get(path);
    if (known) return known;
    const bytes = readFileSync(path);
    if (statSync(path).isFIFO()) pipeContents.set(path, bytes);
    return bytes;
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw usageError(`${what} '${path}' cannot be read: ${fileErrorReason(error)}`);
  }
}
