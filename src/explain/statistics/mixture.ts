import type { Range } from '../result.js';
import type { Times } from './times.js';

/** Slow is what takes longer than this many medians. */
const slowMedians = 10;

/** A gap parts two groups if it is this wide, as a ratio, and both groups hold this share of the times. */
const leastGap = 2;
const leastGroup = 0.005;

/** How the time is shared out between usual and slow requests. */
export interface Mixture {
  medianMs: number;
  meanMs: number;
  /** Beyond ten times the median: share of the requests, and of the sum of all times. */
  slowShare: number;
  slowTimeShare: number;
  /** The widest gap, as a ratio, where next to no time lies: it parts two groups. `null` if there is none. */
  gapMs: Range | null;
  /** Share of the requests above the gap; 0 without one. */
  aboveGap: number;
}

/** Tail and groups of a distribution; `null` of nothing. */
export function mixtureOf(times: Times): Mixture | null {
  const medianMs = quantileMs(times, 0.5);
  if (medianMs === null) return null;
  const meanMs = truncatedMeanMs(times, Number.POSITIVE_INFINITY);
  const slow = times.values.filter(({ ms }) => ms > slowMedians * medianMs);
  const gapMs = widestGap(times);
  return {
    medianMs,
    meanMs,
    slowShare: sum(slow, ({ count }) => count) / times.count,
    slowTimeShare: sum(slow, ({ ms, count }) => ms * count) / (meanMs * times.count),
    gapMs,
    aboveGap: gapMs ? shareFrom(times, gapMs.high) : 0,
  };
}

/** The time that the share `q` of the times does not exceed; `null` of nothing. */
export function quantileMs({ count, values }: Times, q: number): number | null {
  let seen = 0;
  for (const value of values) {
    seen += value.count;
    if (seen >= q * count) return value.ms;
  }
  return values.at(-1)?.ms ?? null;
}

/**
 * The mean time with a limit: E[min(t, T)]. N connections with a timeout of T give X = N / E[min(r, T)] responses per
 * second (Little's law). `NaN` of nothing.
 */
export function truncatedMeanMs({ count, values }: Times, limitMs: number): number {
  return sum(values, (value) => Math.min(value.ms, limitMs) * value.count) / count;
}

/** Times within the gap may be a tenth of the smallest group. */
function widestGap(times: Times): Range | null {
  const { count, values } = times;
  const allowed = (count * leastGroup) / 10;
  const groupBelow = quantileMs(times, leastGroup) ?? 0;
  let widest: Range | null = null;
  let [from, inside] = [0, 0];
  for (const [index, { ms }] of values.entries()) {
    // `inside` counts what lies strictly between `from` and `index`.
    if (index > from + 1) inside += values[index - 1]?.count ?? 0;
    while (from < index && (inside > allowed || (values[from]?.ms ?? 0) < groupBelow)) {
      from += 1;
      if (from < index) inside -= values[from]?.count ?? 0;
    }
    const low = values[from]?.ms ?? ms;
    const ratio = ms / low;
    if (ratio >= leastGap && ratio > (widest ? widest.high / widest.low : 0)) {
      if (shareFrom(times, ms) >= leastGroup) widest = { low, high: ms };
    }
  }
  return widest;
}

function shareFrom({ count, values }: Times, ms: number): number {
  return sum(values, (value) => (value.ms >= ms ? value.count : 0)) / count;
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0);
}
