import type { Durations } from '../statistics/durations.js';

/** What the times of a stretch are: its bounds in ms, and their share of all. */
export interface Bin {
  fromMs: number;
  toMs: number;
  share: number;
}

/** The clock's resolution: the least that has a logarithm. */
const MIN_MS = 1e-6;

/**
 * Durations in about `most` bins of equal width on a logarithmic axis; those of which a bound is known only are left out, but for
 * the share. Empty without a time.
 */
export function buildLogBins({ count, values }: Durations, maxBins: number): Bin[] {
  const [shortest, last] = [values[0]?.ms, values.at(-1)?.ms];
  if (shortest === undefined || last === undefined) return [];
  const first = Math.max(MIN_MS, shortest);
  // Apart by more than the histogram's precision: else bins would be empty that no bucket begins in.
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
