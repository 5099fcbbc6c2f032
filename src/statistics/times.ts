import { inflateSync } from 'node:zlib';

/** Times of one length, to the histogram's precision. */
export interface TimeCount {
  ms: number;
  count: number;
}

/** A distribution of times, shortest first; none is empty. */
export interface Times {
  count: number;
  values: TimeCount[];
  /** Those of `count` of which nothing is known but that they are longer than so much. */
  longer?: TimeCount;
}

// Cookies of HdrHistogram's V2 encoding, with the word size that both have.
const plainCookie = 0x1c849313;
const compressedCookie = 0x1c849314;
const compressedHeaderBytes = 8;
const headerBytes = 40;

/**
 * The times of an HdrHistogram as a `LoadResult` holds it: V2, compressed, base64, in nanoseconds.
 *
 * The format (HdrHistogram, `AbstractHistogram.java`, encodeIntoByteBuffer): a cookie, the length of what is deflated; in it
 * a cookie, payload length, normalizing offset, significant digits, lowest and highest value, ratio; then the counts as
 * zigzag LEB128, where a negative number -n stands for n counts of zero.
 */
export function decodeTimes(base64: string): Times {
  const outer = Buffer.from(base64, 'base64');
  expectCookie(outer, compressedHeaderBytes, compressedCookie);
  const bytes = inflateSync(outer.subarray(compressedHeaderBytes));
  expectCookie(bytes, headerBytes, plainCookie);
  const digits = bytes.readInt32BE(12);
  const lowest = Number(bytes.readBigInt64BE(16));
  const middleOf = middleNanos(digits, lowest);
  const values: TimeCount[] = [];
  let index = 0;
  for (const number of zigzagNumbers(
    bytes.subarray(headerBytes, headerBytes + bytes.readInt32BE(4)),
  )) {
    if (number > 0) values.push({ ms: middleOf(index) / 1e6, count: number });
    index += number < 0 ? -number : 1;
  }
  return { count: values.reduce((sum, { count }) => sum + count, 0), values };
}

/** The times of samples. */
export function timesOf(samplesMs: readonly number[]): Times {
  const sorted = samplesMs.toSorted((a, b) => a - b);
  return { count: sorted.length, values: sorted.map((ms) => ({ ms, count: 1 })) };
}

/** All times of several distributions. */
export function mergedTimes(parts: readonly Times[]): Times {
  const counts = new Map<number, number>();
  for (const { ms, count } of parts.flatMap(({ values }) => values)) {
    counts.set(ms, (counts.get(ms) ?? 0) + count);
  }
  const values = [...counts].sort(([a], [b]) => a - b).map(([ms, count]) => ({ ms, count }));
  return { count: parts.reduce((sum, { count }) => sum + count, 0), values };
}

/** Of a `LoadResult`: all latencies, and those of them that are censored. */
export interface LatencyHistograms {
  latency: string;
  latencyCensored: string;
}

/** The latencies of some results together, as `estimated` has them. */
export function latencyTimes(parts: readonly LatencyHistograms[]): Times {
  const all = parts.map(({ latency }) => decodeTimes(latency));
  const censored = parts.map(({ latencyCensored }) => decodeTimes(latencyCensored));
  return estimated(mergedTimes(all), mergedTimes(censored));
}

/**
 * The product-limit estimate (Kaplan-Meier) of a distribution, of all samples and those of them that are censored: the
 * weight of a censored sample is spread over the times that are longer than it, and what none is longer than is `longer`.
 */
export function estimated(all: Times, censored: Times): Times {
  const lost = new Map(censored.values.map(({ ms, count }) => [ms, count]));
  let atRisk = all.count;
  // Of how many samples one that is at risk has the weight.
  let weight = 1;
  const values: TimeCount[] = [];
  for (const { ms, count } of all.values) {
    const unfinished = lost.get(ms) ?? 0;
    const ended = count - unfinished;
    if (ended > 0) values.push({ ms, count: ended * weight });
    const left = atRisk - ended;
    atRisk -= count;
    if (atRisk > 0) weight *= left / atRisk;
    else if (unfinished > 0)
      return { count: all.count, values, longer: { ms, count: left * weight } };
  }
  return { count: all.count, values };
}

/** Shares that are sums of fractions are equal if they are as close as this. */
const EQUAL = 1e-9;

/**
 * The time that the share `q` of the times does not exceed, or what is known of it: that it is longer than that of `longer`;
 * `null` of nothing.
 */
export function quantileMs({ count, values, longer }: Times, q: number): number | null {
  let seen = 0;
  for (const value of values) {
    seen += value.count;
    if (seen >= q * count - EQUAL) return value.ms;
  }
  return longer?.ms ?? values.at(-1)?.ms ?? null;
}

/** Whether the share `q` of the times is known to be reached. */
export function isKnown({ count, longer }: Times, q: number): boolean {
  return (longer?.count ?? 0) <= (1 - q) * count + EQUAL;
}

/**
 * The mean time with a limit: E[min(t, T)]. N connections with a timeout of T give X = N / E[min(r, T)] responses per
 * second (Little's law). Where times are longer than a limit is known of, these count as that. `NaN` of nothing.
 */
export function truncatedMeanMs({ count, values, longer }: Times, limitMs: number): number {
  const all = longer ? [...values, longer] : values;
  return all.reduce((sum, { ms, count }) => sum + Math.min(ms, limitMs) * count, 0) / count;
}

function expectCookie(bytes: Buffer, header: number, cookie: number): void {
  if (bytes.length < header || bytes.readInt32BE(0) !== cookie) {
    throw new RangeError('not an HdrHistogram of version 2, compressed');
  }
}

/** The middle of the values that a place in the counts stands for. */
function middleNanos(digits: number, lowest: number): (index: number) => number {
  // Values up to twice 10^digits are kept one by one; from there on each doubling has half as many places.
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

function* zigzagNumbers(bytes: Buffer): Generator<number> {
  let [value, shift] = [0n, 0n];
  for (const byte of bytes) {
    // The ninth byte of a number is a whole one: it has no bit that tells of another.
    const last = shift === 56n;
    value |= BigInt(last ? byte : byte & 0x7f) << shift;
    shift += 7n;
    if (last || byte < 0x80) {
      yield Number((value >> 1n) ^ -(value & 1n));
      [value, shift] = [0n, 0n];
    }
  }
}
