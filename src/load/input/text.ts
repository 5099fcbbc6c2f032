import { constants, isUtf8 } from 'node:buffer';
import { statSync } from 'node:fs';
import { usageError } from '../../errors.js';
import { readInput } from './file.js';

/** The text of a file that the user named, `-` for standard input; `what` says in a message what the file is for. */
export function readText(path: string, what: string): string {
  const name = `${what} '${path}'`;
  // A file that is too long is refused before it is read.
  if (readSize(path) > MAX_BYTES) throw tooLong(name);
  return decodeText(readInput(path, what), name);
}

/** The size of a file; 0 where there is none: reading it says why. */
function readSize(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

/** The length of text that JavaScript can hold. */
const MAX_BYTES = constants.MAX_STRING_LENGTH;

function tooLong(what: string): Error {
  return usageError(`${what} is too long for a text file: at most ${MAX_BYTES >> 20} MiB`);
}

/** Text as editors and shells write it: UTF-8 with or without a byte order mark, or UTF-16. */
export function decodeText(bytes: Buffer, what: string): string {
  if (bytes.length > MAX_BYTES) throw tooLong(what);
  const wide = detectUtf16(bytes);
  if (wide) return new TextDecoder(wide).decode(bytes);
  if (!isUtf8(bytes)) {
    throw usageError(`${what} must be UTF-8 or UTF-16 (line ${findFaultyLine(bytes)} is neither)`);
  }
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}

/** The byte order of UTF-16, by its mark or by the zero in its first character. */
export function detectUtf16(bytes: Buffer): 'utf-16le' | 'utf-16be' | null {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return null;
  if ((first === 0xff && second === 0xfe) || (first > 0 && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second > 0)) return 'utf-16be';
  return null;
}

/** The lines of a text, without their ends: CRLF, LF or CR. */
export function splitLines(text: string): string[] {
  return text.split(/\r\n|\n|\r/);
}

function findFaultyLine(bytes: Buffer): number {
  const lines = bytes.toString('latin1').split('\n');
  return lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1'))) + 1;
}
