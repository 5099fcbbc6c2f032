import type { LoadResult, Window } from '../load/result.js';

/** Several windows of a series as one. */
export interface Interval {
  /** Start, in milliseconds from the start of the measurement. */
  tMs: number;
  /** Per second. */
  completed: number;
  /** Per second. */
  errors: number;
  /** The highest p99 of the windows: percentiles cannot be averaged. */
  worstP99Ms: number | null;
}

/** The series in at most `most` intervals of equally many windows. */
export function intervals(result: LoadResult, most: number): Interval[] {
  const perInterval = Math.max(1, Math.ceil(result.series.length / most));
  return group(result, perInterval);
}

/** The series in intervals that hold about 20 responses or more, since fewer make a rate of noise; at most a second each. */
export function readableIntervals(result: LoadResult): Interval[] {
  const windows = result.series.length;
  const completed = result.series.reduce((sum, window) => sum + window.completed, 0);
  return group(result, Math.min(10, Math.max(1, Math.ceil((20 * windows) / completed))));
}

function group({ series, durationMs }: LoadResult, perInterval: number): Interval[] {
  const groups: Window[][] = [];
  for (let first = 0; first < series.length; first += perInterval) {
    groups.push(series.slice(first, first + perInterval));
  }
  joinShortEnd(groups, durationMs);
  return groups.map((windows, index) => merge(windows, start(groups[index + 1]) ?? durationMs));
}

/** A last group of less than half a length joins the one before: its rate would be noise. */
function joinShortEnd(groups: Window[][], durationMs: number): void {
  const last = start(groups.at(-1));
  const previous = start(groups.at(-2));
  if (last === undefined || previous === undefined) return;
  if (durationMs - last >= (last - previous) / 2) return;
  groups.at(-2)?.push(...(groups.pop() ?? []));
}

function merge(windows: Window[], endMs: number): Interval {
  const tMs = start(windows) ?? 0;
  const perSecond = (total: number) => (endMs > tMs ? (total * 1000) / (endMs - tMs) : 0);
  const p99s = windows.map((window) => window.p99Ms).filter((ms) => ms !== null);
  return {
    tMs,
    completed: perSecond(windows.reduce((sum, window) => sum + window.completed, 0)),
    errors: perSecond(windows.reduce((sum, window) => sum + window.errors, 0)),
    worstP99Ms: p99s.length > 0 ? Math.max(...p99s) : null,
  };
}

function start(windows: Window[] | undefined): number | undefined {
  return windows?.[0]?.tMs;
}
