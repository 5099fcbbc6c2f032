import { decodeHistogram } from './hdr-histogram.js';

/** Number of samples of one duration, to the precision of the histogram. */
export interface DurationCount {
  ms: number;
  count: number;
}

/** A distribution of durations, shortest first, without empty entries. */
export interface Durations {
  count: number;
  values: DurationCount[];
  /** Samples among `count` that are only known to be longer than a duration (right-censored). */
  censoredTail?: DurationCount;
}

/**
 * Decodes the HdrHistogram of a `LoadResult`: V2, compressed, base64, in nanoseconds.
 *
 * @throws {RangeError} for another format, or where it is damaged
 */
export function decodeDurations(base64: string): Durations {
  const { digits, lowest, counts } = decodeHistogram(base64);
  const middleOf = createMiddleReader(digits, Number(lowest));
  const values = [...counts].map(([index, count]) => ({ ms: middleOf(index) / 1e6, count }));
  return { count: values.reduce((sum, { count }) => sum + count, 0), values };
}

/** Converts samples in ms to a distribution. */
export function toDurations(samplesMs: readonly number[]): Durations {
  const sorted = samplesMs.toSorted((a, b) => a - b);
  return { count: sorted.length, values: sorted.map((ms) => ({ ms, count: 1 })) };
}

/** Merges several distributions. */
export function mergeDurations(parts: readonly Durations[]): Durations {
  const counts = new Map<number, number>();
  for (const { ms, count } of parts.flatMap(({ values }) => values)) {
    counts.set(ms, (counts.get(ms) ?? 0) + count);
  }
  const values = [...counts].sort(([a], [b]) => a - b).map(([ms, count]) => ({ ms, count }));
  return { count: parts.reduce((sum, { count }) => sum + count, 0), values };
}

/** Encoded histograms of a `LoadResult`: all latencies, and the censored ones among them. */
export interface LatencyHistograms {
  latency: string;
  latencyCensored: string;
}

/** Estimates the latencies of several results together, see `estimateUncensored`. */
export function estimateLatencies(parts: readonly LatencyHistograms[]): Durations {
  const all = parts.map(({ latency }) => decodeDurations(latency));
  const censored = parts.map(({ latencyCensored }) => decodeDurations(latencyCensored));
  return estimateUncensored(mergeDurations(all), mergeDurations(censored));
}

/**
 * Computes the product-limit (Kaplan-Meier) estimate of a distribution from all samples and the censored ones among
 * them. The weight of a censored sample is spread over the longer durations; without any it is the `censoredTail`.
 */
export function estimateUncensored(all: Durations, censored: Durations): Durations {
  const censoredCounts = new Map(censored.values.map(({ ms, count }) => [ms, count]));
  let atRisk = all.count;
  // Weight of a sample at risk, in samples.
  let weight = 1;
  const values: DurationCount[] = [];
  for (const { ms, count } of all.values) {
    const unfinished = censoredCounts.get(ms) ?? 0;
    const ended = count - unfinished;
    if (ended > 0) values.push({ ms, count: ended * weight });
    const left = atRisk - ended;
    atRisk -= count;
    if (atRisk > 0) weight *= left / atRisk;
    else if (unfinished > 0)
      return { count: all.count, values, censoredTail: { ms, count: left * weight } };
  }
  return { count: all.count, values };
}

/** Maximum difference of shares that count as equal, as they are sums of fractions. */
const EQUAL = 1e-9;

/**
 * Computes the quantile `q` in ms; in the `censoredTail` it is the lower bound, see `isQuantileKnown`. `null` without
 * samples.
 */
export function computeQuantileMs(
  { count, values, censoredTail }: Durations,
  q: number,
): number | null {
  let seen = 0;
  for (const value of values) {
    seen += value.count;
    if (seen >= q * count - EQUAL) return value.ms;
  }
  return censoredTail?.ms ?? values.at(-1)?.ms ?? null;
}

/** Whether the quantile `q` is known, that is, below the `censoredTail`. */
export function isQuantileKnown({ count, censoredTail }: Durations, q: number): boolean {
  return (censoredTail?.count ?? 0) <= (1 - q) * count + EQUAL;
}

/**
 * Computes the mean duration with a time limit, E[min(t, T)]. N connections with a timeout of T yield X = N / E[min(r,
 * T)] responses per second (Little's law). The `censoredTail` counts with its lower bound. `NaN` without samples.
 */
export function computeTruncatedMeanMs(
  { count, values, censoredTail }: Durations,
  limitMs: number,
): number {
  const all = censoredTail ? [...values, censoredTail] : values;
  return all.reduce((sum, { ms, count }) => sum + Math.min(ms, limitMs) * count, 0) / count;
}

/** Creates a function that returns the middle of the values, in ns, that an index in the counts stands for. */
function createMiddleReader(digits: number, lowest: number): (index: number) => number {
  // Values up to twice 10^digits have a place each; from there on each doubling has half as many places.
  const unitMagnitude = Math.floor(Math.log2(lowest));
  const halfMagnitude = Math.ceil(Math.log2(2 * 10 ** digits)) - 1;
  const half = 2 ** halfMagnitude;
  return (index) => {
    const bucket = Math.max(0, Math.floor(index / half) - 1);
    const width = 2 ** (bucket + unitMagnitude);
    const place = bucket === 0 ? index : (index % half) + half;
    return place * width + Math.floor(width / 2);
  };
}
