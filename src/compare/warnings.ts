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

/** Warns of sides whose connections spoke different versions of HTTP, as a server may choose. */
export function listVersions(runs: readonly SideResult[]): LoadWarning[] {
  const [a, b] = (['a', 'b'] as const).map((side) =>
    describeVersions(runs.filter((run) => run.side === side)),
  );
  if (a === b) return [];
  const message = `The connections of A spoke ${a}, those of B ${b}: a part of the difference may be that of the protocols.`;
  return [{ id: 'http-versions', message }];
}

function describeVersions(runs: readonly SideResult[]): string {
  // Results of versions without HTTP/2 have no such counts.
  const speaks = (version: 'http1' | 'http2') =>
    runs.some(({ result }) => (result.connections[version] ?? 0) > 0);
  if (!speaks('http2')) return 'HTTP/1.1';
  return speaks('http1') ? 'HTTP/2 and HTTP/1.1' : 'HTTP/2';
}
