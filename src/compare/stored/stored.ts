import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { usageError } from '../../errors/millrace-error.js';
import { checkVersion, readResultFile, type UncheckedResult } from '../../files/result-file.js';
import type { LoadResult } from '../../load/result.js';
import { estimateLatencies } from '../../statistics/durations.js';
import { isObject } from '../../validation/shape.js';
import { findPlanDifference } from '../differences/plan-difference.js';
import { readRun } from '../figures.js';

/** Reads the results of a load that files hold; each may be a pattern with `*` and `?` in its parts. */
export function readStoredResults(files: readonly string[]): LoadResult[] {
  return files.flatMap(expandPattern).map(readStoredResult);
}

function readStoredResult(file: string): LoadResult {
  return checkLoadResult(readResultFile(file), `'${file}'`);
}

/** Returns a value that is the whole result of a load; throws a usage error that begins with its name if it is none. */
export function checkLoadResult(value: UncheckedResult, name: string): LoadResult {
  checkVersion(value, name);
  const fault = findFault(value);
  if (fault !== null) throw usageError(`${name} ${fault}`);
  const result = value as unknown as LoadResult;
  checkParts(name, result);
  return result;
}

/** Refuses a result that lacks a part of what is compared, or has a damaged one. */
function checkParts(name: string, result: LoadResult): void {
  try {
    const { histograms } = readRun({ side: 'a', pair: null, result });
    estimateLatencies([histograms]);
    findPlanDifference(result.plan, result.plan);
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    throw usageError(`${name} ${NO_RESULT}: a part of it is missing or damaged`);
  }
}

/** Says why a result is not that of a load; `null` if it is one. */
function findFault(value: UncheckedResult): string | null {
  const { kind, throughput, latencyMs, histograms, plan, generator, requests, warnings } = value;
  if (kind === 'comparison') return 'is a comparison: compare the results of loads';
  const isWhole = [throughput, latencyMs, histograms, plan, generator, requests].every(isObject);
  if (!isWhole || !Array.isArray(warnings)) return NO_RESULT;
  const { mean } = throughput as UncheckedResult;
  const { atLeast } = latencyMs as UncheckedResult;
  const { notSent } = requests as UncheckedResult;
  return typeof mean === 'number' && isObject(atLeast) && isObject(notSent) ? null : NO_RESULT;
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
