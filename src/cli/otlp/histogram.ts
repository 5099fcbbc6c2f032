import type { ExponentialHistogram } from './data.js';

/** Four buckets for each doubling: one is 19 % wider than the one before. */
const SCALE = 2;
const PER_DOUBLING = 2 ** SCALE;

/** The range: 7.6 microseconds to 512 seconds. What is outside counts in the buckets at its ends. */
const FIRST = -17 * PER_DOUBLING;
const LAST = 9 * PER_DOUBLING;

/** The bounds of the buckets in milliseconds, for the option `buckets` of the load. */
export const OTLP_BUCKETS_MS: readonly number[] = Array.from(
  { length: LAST - FIRST + 1 },
  (_, index) => 1000 * 2 ** ((FIRST + index) / PER_DOUBLING),
);

/**
 * Builds a histogram of `count` times from the numbers of those up to each bound. Empty buckets at the ends are left out.
 */
export function buildHistogram(
  count: number,
  sumMs: number,
  upTo: readonly number[],
): ExponentialHistogram {
  const counts = [...upTo, count].map((value, index) => value - (upTo[index - 1] ?? 0));
  const first = counts.findIndex((number) => number > 0);
  const last = counts.findLastIndex((number) => number > 0);
  // The bucket before the first bound ends there.
  const offset = first < 0 ? 0 : FIRST - 1 + first;
  return {
    ...{ count, sum: sumMs / 1000, scale: SCALE, zeroCount: 0 },
    positive: { offset, bucketCounts: first < 0 ? [] : counts.slice(first, last + 1) },
    negative: { offset: 0, bucketCounts: [] },
  };
}
