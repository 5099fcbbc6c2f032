import type { LoadResult, ServerResult, ServerSample, Window } from '../load/result.js';

/** Several windows of a series as one. */
export interface Interval {
  /** Start, in milliseconds from the start of the measurement. */
  tMs: number;
  /** Per second. */
  completed: number;
  /** Per second. */
  errors: number;
  /** The highest p99 of the windows: percentiles cannot be averaged. */
  highestP99Ms: number | null;
}

/** The series in at most `most` intervals of equally many windows. */
export function intervals(result: LoadResult, most: number): Interval[] {
  return group(result, windowsEach(result.series, most));
}

/**
 * The series in intervals that hold about 20 responses or more, since fewer make a rate of noise; at most a second each,
 * unless that makes more than `most`.
 */
export function readableIntervals(result: LoadResult, most: number): Interval[] {
  const { series } = result;
  const completed = series.reduce((sum, window) => sum + window.completed, 0);
  const readable = Math.min(10, Math.max(1, Math.ceil((20 * series.length) / completed)));
  return group(result, Math.max(readable, windowsEach(series, most)));
}

/** How many windows, or samples, go together so that at most `most` points are left. */
export function windowsEach(series: readonly unknown[], most: number): number {
  return Math.max(1, Math.ceil(series.length / most));
}

/** The highest percentiles of each stretch of windows. */
export function highestPercentiles(
  { series }: LoadResult,
  most: number,
): Pick<Window, 'tMs' | 'p50Ms' | 'p99Ms'>[] {
  return chunks(series, windowsEach(series, most)).map((windows) => ({
    tMs: start(windows) ?? 0,
    p50Ms: highest(windows.map((window) => window.p50Ms)),
    p99Ms: highest(windows.map((window) => window.p99Ms)),
  }));
}

/** The highest of each stretch of samples, so that a peak is not lost. */
export function highestSamples({ series }: ServerResult, most: number): ServerSample[] {
  return chunks(series, windowsEach(series, most)).map((samples) => ({
    tMs: samples.at(-1)?.tMs ?? 0,
    cpu: Math.max(...samples.map((sample) => sample.cpu)),
    rssMb: Math.max(...samples.map((sample) => sample.rssMb)),
  }));
}

function group({ series, durationMs }: LoadResult, perInterval: number): Interval[] {
  const groups = chunks(series, perInterval);
  joinShortEnd(groups, durationMs);
  return groups.map((windows, index) => merge(windows, start(groups[index + 1]) ?? durationMs));
}

function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
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
  return {
    tMs,
    completed: perSecond(windows.reduce((sum, window) => sum + window.completed, 0)),
    errors: perSecond(windows.reduce((sum, window) => sum + window.errors, 0)),
    highestP99Ms: highest(windows.map((window) => window.p99Ms)),
  };
}

function highest(values: (number | null)[]): number | null {
  const present = values.filter((value) => value !== null);
  return present.length > 0 ? Math.max(...present) : null;
}

function start(windows: Window[] | undefined): number | undefined {
  return windows?.[0]?.tMs;
}
