import { time } from '../format/units.js';
import type { LoadResult, LoadWarning } from '../load/result.js';
import type { ComparisonSideName } from './result.js';

/** The result of a run, and whose it is. */
export interface SideResult {
  side: ComparisonSideName;
  /** Pair that it belongs to, from 0; `null` of a stored result. */
  pair: number | null;
  result: LoadResult;
}

/** Warnings that one of many short runs has by nature. */
const OF_SHORT_RUNS = new Set(['short-run']);

/** Lists the warnings of all runs, each once, with the number of runs that have it. */
export function summarizeWarnings(runs: readonly SideResult[]): LoadWarning[] {
  const first = new Map<string, string>();
  for (const { id, message } of runs.flatMap(({ result }) => result.warnings)) {
    if (!OF_SHORT_RUNS.has(id) && !first.has(id)) first.set(id, message);
  }
  return [...first].map(([id, message]) => {
    const describe = (side: ComparisonSideName) => {
      const own = runs.filter((run) => run.side === side);
      const having = own.filter(({ result }) => result.warnings.some((it) => it.id === id));
      return `${having.length} of ${own.length} runs of ${side.toUpperCase()}`;
    };
    return { id, message: `${message} (${describe('a')}, ${describe('b')})` };
  });
}

/** Warns of stored results of runs that were interrupted: their figures are those of a part of a run. */
export function listInterrupted(runs: readonly SideResult[]): LoadWarning[] {
  return runs.flatMap(({ side, result }) => {
    if (!result.interrupted) return [];
    const message = `A result of ${side.toUpperCase()}, of ${result.startedAt}, is of a run that was interrupted after ${time(result.durationMs)}: it is a part of one.`;
    return [{ id: 'interrupted', message }];
  });
}
