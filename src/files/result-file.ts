// Reads files with results, as `-o FILE` and `--json` write them.
import { readFileSync } from 'node:fs';
import { fileErrorReason } from '../errors/file-errors.js';
import { MillraceError, usageError } from '../errors/millrace-error.js';
import { isObject } from '../validation/shape.js';
import { isStandardInput, readStandardInput } from './standard-input.js';

/** The schema version that this version of millrace reads. */
const SCHEMA_VERSION = 2;

/** A result of any kind, as far as it is known: its fields are not checked. */
export type UncheckedResult = Record<string, unknown>;

/** Reads a result of any kind. `-` is stdin. */
export function readResultFile(file: string): UncheckedResult {
  return parseResult(readResultText(file), `'${file}'`);
}

/** Parses a result of any kind; messages begin with its name. */
export function parseResult(text: string, name: string): UncheckedResult {
  const value = parse(text, name);
  const { schemaVersion, tool } = (isObject(value) ? value : {}) as UncheckedResult;
  if (schemaVersion === undefined || !isObject(tool)) {
    throw usageError(`${name} is not a result of millrace, as -o FILE or --json writes it`);
  }
  checkVersion(value as UncheckedResult, name);
  return value as UncheckedResult;
}

/** Refuses a result of another version of the schema; the message begins with its name. */
export function checkVersion(result: object, name: string): void {
  const { schemaVersion } = result as UncheckedResult;
  if (schemaVersion === undefined || schemaVersion === SCHEMA_VERSION) return;
  throw usageError(
    `${name} has schemaVersion ${JSON.stringify(schemaVersion)}: this version of millrace reads ${SCHEMA_VERSION}`,
  );
}

/** Reads the text of a file with results. `-` is stdin. */
export function readResultText(file: string): string {
  try {
    if (isStandardInput(file)) return decode(readStandardInput(`result '${file}'`));
    return decode(readFileSync(file));
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw usageError(`result '${file}' cannot be read: ${fileErrorReason(error)}`);
  }
}

/** Decodes UTF-8 or, by its mark, UTF-16, as a shell of Windows writes what a command prints. */
function decode(bytes: Buffer): string {
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe;
  return new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8').decode(bytes);
}

function parse(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const what = text.trim() === '' ? 'is empty' : isCutOff(text) ? 'is cut off' : 'is not JSON';
    throw usageError(`${name} ${what}: a result is what -o FILE or --json writes`);
  }
}

/** Whether a text begins like an object and ends within it: a bracket outside of strings is open. */
function isCutOff(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '"') inString = !inString;
    else if (inString) at += char === '\\' ? 1 : 0;
    else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
  }
  return text.trimStart().startsWith('{') && depth > 0;
}
