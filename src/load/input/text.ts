import { constants, isUtf8 } from 'node:buffer';
import { statSync } from 'node:fs';
import { usageError } from '../../errors/millrace-error.js';
import { readInput } from './file.js';

/** Reads a text file of the user, `-` for standard input; `what` names its purpose in an error message. */
export function readText(path: string, what: string, { once = false } = {}): string {
  const name = `${what} '${path}'`;
  // A file that is too long is refused before it is read.
  if (readSize(path) > MAX_BYTES) throw tooLongError(name);
  return decodeText(readInput(path, what, { once }), name);
}

/** Returns the size of a file; 0 if it cannot be found: reading it gives the error. */
function readSize(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

/** Maximum length of a JavaScript string. */
const MAX_BYTES = constants.MAX_STRING_LENGTH;

function tooLongError(what: string): Error {
  return usageError(`${what} is too long for a text file: at most ${MAX_BYTES >> 20} MiB`);
}

/** Decodes text as editors and shells write it: UTF-8 with or without a byte order mark, or UTF-16. */
export function decodeText(bytes: Buffer, what: string): string {
  if (bytes.length > MAX_BYTES) throw tooLongError(what);
  const utf16 = detectUtf16(bytes);
  if (utf16) return new TextDecoder(utf16).decode(bytes);
  if (!isUtf8(bytes)) {
    throw usageError(`${what} must be UTF-8 or UTF-16 (line ${findFaultyLine(bytes)} is neither)`);
  }
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}

/** Detects UTF-16 and its byte order, by the mark or by the zero byte in the first character; `null` for other text. */
export function detectUtf16(bytes: Buffer): 'utf-16le' | 'utf-16be' | null {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return null;
  if ((first === 0xff && second === 0xfe) || (first > 0 && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second > 0)) return 'utf-16be';
  return null;
}

/** Splits a text at its line ends: CRLF, LF or CR. */
export function splitLines(text: string): string[] {
  return text.split(/\r\n|\n|\r/);
}

function findFaultyLine(bytes: Buffer): number {
  const lines = bytes.toString('latin1').split('\n');
  return lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1'))) + 1;
}
