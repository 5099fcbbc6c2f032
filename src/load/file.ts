import { readFileSync } from 'node:fs';
import { usageError } from '../errors.js';

const REASONS: Record<string, string> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'is a directory',
};

/** The bytes of a file that the user named; `what` says in a message what the file is for. */
export function readInput(path: string, what: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw usageError(`${what} '${path}' cannot be read: ${fileErrorReason(error)}`);
  }
}

/** Why a file cannot be used, without what the message of Node repeats. */
export function fileErrorReason(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}
