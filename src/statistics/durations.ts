import { inflateSync } from 'node:zlib';

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

// Cookies of HdrHistogram's V2 encoding, including their word size.
const PLAIN_COOKIE = 0x1c849313;
const COMPRESSED_COOKIE = 0x1c849314;
const COMPRESSED_HEADER_BYTES = 8;
const HEADER_BYTES = 40;

/**
 * Decodes the HdrHistogram of a `LoadResult`: V2, compressed, base64, in nanoseconds.
 *
 * The format (HdrHistogram, `AbstractHistogram.java`, encodeIntoByteBuffer) is a cookie, the length of the deflated
 * data, and the data: a cookie, payload length, normalizing offset, significant digits, lowest and highest value,
 * ratio; then the counts as ZigZag LEB128, where a negative number -n means n counts of zero.
 *
 * @throws {RangeError} for another format, or where it is damaged
 */
export function decodeDurations(base64: string): Durations {
  const outer = Buffer.from(base64, 'base64');
  assertCookie(outer, COMPRESSED_HEADER_BYTES, COMPRESSED_COOKIE);
  const bytes = inflate(outer.subarray(COMPRESSED_HEADER_BYTES));
  assertCookie(bytes, HEADER_BYTES, PLAIN_COOKIE);
  const digits = bytes.readInt32BE(12);
  const lowest = Number(bytes.readBigInt64BE(16));
  const middleOf = createMiddleReader(digits, lowest);
  const values: DurationCount[] = [];
  let index = 0;
  for (const number of decodeZigZag(
    bytes.subarray(HEADER_BYTES, HEADER_BYTES + bytes.readInt32BE(4)),
  )) {
    if (number > 0) values.push({ ms: middleOf(index) / 1e6, count: number });
    index += number < 0 ? -number : 1;
  }
  return { count: values.reduce((sum, { count }) => sum + count, 0), values };
}

/** Maximum length of a histogram, far beyond any of the engine's: damaged data may inflate to any length. */
const MAX_BYTES = 16 * 1024 * 1024;

function inflate(bytes: Buffer): Buffer {
  try {
    return inflateSync(bytes, { maxOutputLength: MAX_BYTES });
  } catch (cause) {
    throw new RangeError('damaged histogram', { cause });
  }
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

function assertCookie(bytes: Buffer, header: number, cookie: number): void {
  if (bytes.length < header || bytes.readInt32BE(0) !== cookie) {
    throw new RangeError('not an HdrHistogram of version 2, compressed');
  }
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

function* decodeZigZag(bytes: Buffer): Generator<number> {
  let [value, shift] = [0n, 0n];
  for (const byte of bytes) {
    // The ninth byte of a number has eight bits of data and no continuation bit.
    const last = shift === 56n;
    value |= BigInt(last ? byte : byte & 0x7f) << shift;
    shift += 7n;
    if (last || byte < 0x80) {
      yield Number((value >> 1n) ^ -(value & 1n));
      [value, shift] = [0n, 0n];
    }
  }
}
