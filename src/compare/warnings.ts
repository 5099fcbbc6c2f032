import { countUnsuccessful } from '../load/plan/condition-subject.js';
import type { LoadResult, Warning } from '../load/result.js';
import type { SideName } from './result.js';

/** The result of a run, and whose it is. */
export interface SideResult {
  side: SideName;
  /** Pair that it belongs to, from 0; `null` of a stored result. */
  pair: number | null;
  result: LoadResult;
}

/** Warnings that one of many short runs has by nature. */
const OF_SHORT_RUNS = new Set(['short-run']);

/** Lists the warnings of all runs, each once, with the number of runs that have it. */
export function summarizeWarnings(runs: readonly SideResult[]): Warning[] {
  const first = new Map<string, string>();
  for (const { id, message } of runs.flatMap(({ result }) => result.warnings)) {
    if (!OF_SHORT_RUNS.has(id) && !first.has(id)) first.set(id, message);
  }
  return [...first].map(([id, message]) => {
    const describe = (side: SideName) => {
      const own = runs.filter((run) => run.side === side);
      const having = own.filter(({ result }) => result.warnings.some((it) => it.id === id));
      return `${having.length} of ${own.length} runs of ${side.toUpperCase()}`;
    };
    return { id, message: `${message} (${describe('a')}, ${describe('b')})` };
  });
}

/** Difference of the shares of failed requests from which on the sides do not do the same work. */
const MAX_FAILURE_DIFFERENCE = 0.01;

/** Says how the shares of failed requests differ between the sides; `null` if they do not. */
export function describeFailureDifference(runs: readonly SideResult[]): string | null {
  const [a, b] = (['a', 'b'] as const).map((side) => computeFailureShare(runs, side));
  if (a === undefined || b === undefined || Math.abs(a - b) <= MAX_FAILURE_DIFFERENCE) return null;
  const percent = (share: number) => `${Number((share * 100).toFixed(1))} %`;
  return `${percent(a)} of the requests failed on A, ${percent(b)} on B`;
}

function computeFailureShare(runs: readonly SideResult[], side: SideName): number {
  let failed = 0;
  let ended = 0;
  for (const { result } of runs.filter((run) => run.side === side)) {
    const failures = countUnsuccessful(result);
    failed += failures;
    ended += result.requests.ok + failures;
  }
  return ended === 0 ? 0 : failed / ended;
}
