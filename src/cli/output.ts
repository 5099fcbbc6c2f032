import { accessSync, constants as files, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { MillraceError, usageError } from '../errors.js';
import { fileErrorReason } from '../load/file.js';
import type { TextOptions } from '../report/text.js';

/** How a report is written on this stdout. */
export function textOptions(notes: string[]): TextOptions {
  const { isTTY, columns = 80 } = process.stdout;
  const color = isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
  return { color, width: columns, notes };
}

/** Refuses a file that cannot be written before the run, not after it. */
export function checkWritable(path: string): void {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw usageError(`'${path}' cannot be written: it is a directory`);
    accessSync(found ? path : dirname(path), files.W_OK);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw usageError(`'${path}' cannot be written: ${fileErrorReason(error)}`);
  }
}
