import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readRun } from '../compare/figures.js';
import { checkLoadResult } from '../compare/stored/stored.js';
import { fileErrorReason } from '../errors/file-errors.js';
import { MillraceError, usageError } from '../errors/millrace-error.js';
import { readResultFile } from '../files/result-file.js';
import type { LoadResult, PlanSummary } from '../load/result.js';
import type { Interval } from '../statistics/types.js';
import type { HistoryRun } from './result.js';
import { estimateP99Interval, estimateRateInterval } from './run-intervals.js';

/** What is kept of a stored result. */
export interface StoredRun extends HistoryRun {
  plan: PlanSummary;
  commit: string | null;
  isOfIterations: boolean;
  /** The intervals that the run alone gives. */
  intervals: { throughput: Interval | null; p99Ms: Interval | null };
}

/** The runs of a folder, and the files that are none. */
export interface StoredRuns {
  runs: StoredRun[];
  skipped: { file: string; reason: string }[];
}

/** Reads the results of loads in a folder and in those below it, one after the other: only their figures are kept. */
export function readStoredRuns(folder: string): StoredRuns {
  const found: StoredRuns = { runs: [], skipped: [] };
  const first = new Map<string, string>();
  for (const file of listFiles(folder, '')) {
    const run = readStoredRun(folder, file);
    const reason = typeof run === 'string' ? run : nameEarlierFile(first, run);
    if (reason !== null) found.skipped.push({ file, reason });
    else found.runs.push(run as StoredRun);
  }
  return found;
}

/** Lists the paths of the JSON files in a folder and below it, without hidden folders and those of packages. */
function listFiles(folder: string, below: string): string[] {
  return readFolder(join(folder, below)).flatMap((entry) => {
    const path = join(below, entry.name);
    if (entry.isDirectory()) {
      return /^\.|^node_modules$/.test(entry.name) ? [] : listFiles(folder, path);
    }
    return /\.json$/i.test(entry.name) && isFile(join(folder, path)) ? [path] : [];
  });
}

/** Whether a path is a file or leads to one: a pipe would never end. What leads nowhere is named when it is read. */
function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
}

function readFolder(path: string) {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  } catch (error) {
    throw usageError(`folder '${path}' cannot be read: ${fileErrorReason(error)}`);
  }
}

/** Reads a result; returns the reason if it has no place in a history. */
function readStoredRun(folder: string, file: string): StoredRun | string {
  const path = join(folder, file);
  try {
    const value = readResultFile(path);
    if (value.kind === 'comparison') return 'is a comparison, not the result of a load';
    return summarize(file, checkLoadResult(value, `'${path}'`));
  } catch (error) {
    if (error instanceof MillraceError)
      return error.message.replace(/^result /, '').replace(`'${path}' `, '');
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    return 'is not the whole result of a load: a part of it is missing or damaged';
  }
}

function summarize(file: string, result: LoadResult): StoredRun | string {
  const { plan, startedAt, commit = null, generator, interrupted } = result;
  if (interrupted) return 'was interrupted';
  if (plan.segment) {
    const { index, count } = plan.segment;
    return `is share ${index} of ${count}: millrace merge adds the shares up`;
  }
  const { throughput, p99Ms } = readRun({ side: 'a', pair: null, result }).figures;
  if (throughput === null || throughput === 0) return 'has no response';
  const isOfIterations = (result.iterations ?? null) !== null;
  return {
    ...{ file, startedAt, throughput, p99Ms, clientBound: generator.clientBound },
    ...{ plan, commit, isOfIterations },
    // Windows count requests.
    intervals: isOfIterations
      ? { throughput: null, p99Ms: null }
      : { throughput: estimateRateInterval(result), p99Ms: estimateP99Interval(result) },
  };
}

/** Names the file that holds the same run already, if there is one. */
function nameEarlierFile(first: Map<string, string>, run: StoredRun): string | null {
  const key = JSON.stringify([run.startedAt, run.throughput, run.p99Ms]);
  const earlier = first.get(key);
  if (earlier !== undefined) return `is the same run as ${earlier}`;
  first.set(key, run.file);
  return null;
}
