import type { LoadResult, LoadWindow, ServerResult, ServerSample } from '../load/result.js';

/** Several consecutive windows of a series, merged. */
export interface SeriesInterval {
  /** Start, in milliseconds from the start of the measurement. */
  tMs: number;
  /** Per second. */
  completed: number;
  /** Per second. */
  errors: number;
  /** Highest p99 of the windows, as percentiles cannot be averaged. */
  highestP99Ms: number | null;
}

/** Merges the series into at most `maxIntervals` intervals with the same number of windows. */
export function groupWindows(result: LoadResult, maxIntervals: number): SeriesInterval[] {
  return mergeGroups(result, countPerPoint(result.series, maxIntervals));
}

/**
 * Merges the series into intervals with about 20 responses or more, as the rate of fewer is noisy. Intervals are at most a
 * second long, unless there would be more than `maxIntervals`.
 */
export function groupReadableWindows(result: LoadResult, maxIntervals: number): SeriesInterval[] {
  const { series } = result;
  const completed = series.reduce((sum, window) => sum + window.completed, 0);
  const readable = Math.min(10, Math.max(1, Math.ceil((20 * series.length) / completed)));
  return mergeGroups(result, Math.max(readable, countPerPoint(series, maxIntervals)));
}

/** Counts the windows or samples to merge into a point so that at most `maxPoints` points remain. */
export function countPerPoint(series: readonly unknown[], maxPoints: number): number {
  return Math.max(1, Math.ceil(series.length / maxPoints));
}

/** Reduces the series to at most `maxPoints` points with the highest percentiles of their windows. */
export function thinPercentiles(
  { series }: LoadResult,
  maxPoints: number,
): Pick<LoadWindow, 'tMs' | 'p50Ms' | 'p99Ms'>[] {
  return splitIntoGroups(series, countPerPoint(series, maxPoints)).map((windows) => ({
    tMs: getStart(windows) ?? 0,
    p50Ms: findHighest(windows.map((window) => window.p50Ms)),
    p99Ms: findHighest(windows.map((window) => window.p99Ms)),
  }));
}

/** Reduces the samples to at most `maxPoints` points with the highest values, which preserves peaks. */
export function thinSamples({ series }: ServerResult, maxPoints: number): ServerSample[] {
  return splitIntoGroups(series, countPerPoint(series, maxPoints)).map((samples) => ({
    tMs: samples.at(-1)?.tMs ?? 0,
    cpu: Math.max(...samples.map((sample) => sample.cpu)),
    rssMb: Math.max(...samples.map((sample) => sample.rssMb)),
  }));
}

function mergeGroups({ series, durationMs }: LoadResult, perInterval: number): SeriesInterval[] {
  const groups = splitIntoGroups(series, perInterval);
  joinShortEnd(groups, durationMs);
  return groups.map((windows, index) =>
    mergeWindows(windows, getStart(groups[index + 1]) ?? durationMs),
  );
}

function splitIntoGroups<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

/** Merges a last group of less than half the length into the one before, as its rate would be noisy. */
function joinShortEnd(groups: LoadWindow[][], durationMs: number): void {
  const last = getStart(groups.at(-1));
  const previous = getStart(groups.at(-2));
  if (last === undefined || previous === undefined) return;
  if (durationMs - last >= (last - previous) / 2) return;
  groups.at(-2)?.push(...(groups.pop() ?? []));
}

function mergeWindows(windows: LoadWindow[], endMs: number): SeriesInterval {
  const tMs = getStart(windows) ?? 0;
  const perSecond = (total: number) => (endMs > tMs ? (total * 1000) / (endMs - tMs) : 0);
  return {
    tMs,
    completed: perSecond(windows.reduce((sum, window) => sum + window.completed, 0)),
    errors: perSecond(windows.reduce((sum, window) => sum + window.errors, 0)),
    highestP99Ms: findHighest(windows.map((window) => window.p99Ms)),
  };
}

function findHighest(values: (number | null)[]): number | null {
  const present = values.filter((value) => value !== null);
  return present.length > 0 ? Math.max(...present) : null;
}

function getStart(windows: LoadWindow[] | undefined): number | undefined {
  return windows?.[0]?.tMs;
}
