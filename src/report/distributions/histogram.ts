import type { Durations } from '../../statistics/durations.js';

/** A bin of a histogram: its bounds in milliseconds, and its share of all times. */
export interface Bin {
  fromMs: number;
  toMs: number;
  share: number;
}

/** Smallest time on a logarithmic axis: the resolution of the clock. */
const MIN_MS = 1e-6;

/**
 * Builds about `maxBins` bins of equal width on a logarithmic axis. Durations of which only a lower bound is known count
 * towards the total, but are in no bin. Empty without a duration.
 */
export function buildLogBins({ count, values }: Durations, maxBins: number): Bin[] {
  const [shortest, last] = [values[0]?.ms, values.at(-1)?.ms];
  if (shortest === undefined || last === undefined) return [];
  const first = Math.max(MIN_MS, shortest);
  // Bins must be wider than the buckets of the histogram; otherwise some would be empty without reason.
  const ratio = Math.max(1.01, (Math.max(first, last) / first) ** (1 / (maxBins - 1)));
  const findBin = (times: number, slack = 0) =>
    Math.floor(Math.log(Math.max(1, times)) / Math.log(ratio) + slack);
  const length = findBin(last / first, 1e-9) + 1;
  const bins = Array.from({ length }, (_, index) => ({
    fromMs: first * ratio ** index,
    toMs: first * ratio ** (index + 1),
    share: 0,
  }));
  for (const { ms, count: part } of values) {
    const bin = bins[Math.min(length - 1, findBin(ms / first))];
    if (bin) bin.share += part / count;
  }
  return bins;
}
