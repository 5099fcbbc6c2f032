import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { usageError } from '../errors.js';
import { fileErrorReason } from '../file-errors.js';
import type { LoadResult } from '../load/result.js';
import { isObject } from '../validation/shape.js';

/** Reads the results of a load that files hold; each may be a pattern with `*` and `?` in its parts. */
export function readStoredResults(files: readonly string[]): LoadResult[] {
  return files.flatMap(expandPattern).map(readStoredResult);
}

const SCHEMA_VERSION = 1;

function readStoredResult(file: string): LoadResult {
  const value = parse(file, readText(file));
  const fault = findFault(value);
  if (fault !== null) throw usageError(`'${file}' ${fault}`);
  return value as LoadResult;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw usageError(`result '${file}' cannot be read: ${fileErrorReason(error)}`);
  }
}

function parse(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const isCut = /^\s*\{/.test(text) && !/\}\s*$/.test(text);
    const what = text.trim() === '' ? 'is empty' : isCut ? 'is cut off' : 'is not JSON';
    throw usageError(`'${file}' ${what}: a result is what -o FILE or --json of a load writes`);
  }
}

/** Says why a value is no result of a load that this version reads; `null` if it is one. */
function findFault(value: unknown): string | null {
  const { schemaVersion, kind, throughput, latencyMs, histograms, plan, generator } = (
    isObject(value) ? value : {}
  ) as Record<string, unknown>;
  if (schemaVersion === undefined) return NO_RESULT;
  if (schemaVersion !== SCHEMA_VERSION) {
    return `has schemaVersion ${JSON.stringify(schemaVersion)}: this version of millrace reads ${SCHEMA_VERSION}`;
  }
  if (kind === 'comparison') return 'is a comparison: compare the results of loads';
  const isWhole = [throughput, latencyMs, histograms, plan, generator].every(isObject);
  if (!isWhole) return NO_RESULT;
  const { mean } = throughput as { mean?: unknown };
  return typeof mean === 'number' ? null : NO_RESULT;
}

const NO_RESULT = 'is not the result of a load, as -o FILE or --json writes it';

/** Lists the files that a pattern stands for, in the order of their names; a name without `*` and `?` stands for itself. */
export function expandPattern(pattern: string): string[] {
  if (!/[*?]/.test(pattern)) return [pattern];
  const [first = '', ...parts] = pattern.split('/');
  const isAbsolute = pattern.startsWith('/');
  const start = isAbsolute ? ['/'] : matchPart('', first);
  const found = parts.reduce(
    (folders, part) => folders.flatMap((folder) => matchPart(folder, part)),
    start,
  );
  if (found.length === 0) throw usageError(`no file matches '${pattern}'`);
  return found;
}

function matchPart(folder: string, part: string): string[] {
  if (!/[*?]/.test(part)) return [join(folder, part)];
  const wild: Record<string, string> = { '*': '[^/]*', '?': '[^/]' };
  const source = part.replace(/[.*+?^${}()|[\]\\]/g, (char) => wild[char] ?? `\\${char}`);
  const expression = new RegExp(`^${source}$`);
  return listNames(folder)
    .filter((name) => expression.test(name) && (part.startsWith('.') || !name.startsWith('.')))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .map((name) => join(folder, name));
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder || '.');
  } catch {
    return [];
  }
}
