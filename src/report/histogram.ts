import { inflateSync } from 'node:zlib';

/** What the samples of a stretch of time are: its bounds in ms, and their share of all. */
export interface Bin {
  fromMs: number;
  toMs: number;
  share: number;
}

/** HdrHistogram, format V2: the head of the deflated part, and a sub-bucket's half for 3 significant digits (2048 / 2). */
const headBytes = 40;
const half = 1024;

/**
 * The samples of a histogram of `LoadResult.histograms` in about `most` bins of equal width on a logarithmic axis. Empty
 * without a sample.
 *
 * @param fromMs what is below is left out, but for the share: requests in flight at the end may be of any age
 */
export function logBins(base64: string, most: number, fromMs: number): Bin[] {
  const all = recorded(base64);
  const buckets = all.filter(({ endMs }) => endMs > fromMs);
  const [first, last] = [buckets[0]?.ms, buckets.at(-1)?.ms];
  if (first === undefined || last === undefined) return [];
  const total = all.reduce((sum, { count }) => sum + count, 0);
  // Apart by more than the histogram's precision: else bins would be empty that no bucket begins in.
  const ratio = Math.max(1.01, (last / first) ** (1 / (most - 1)));
  const length = Math.floor(Math.log(last / first) / Math.log(ratio) + 1e-9) + 1;
  const bins = Array.from({ length }, (_, index) => ({
    fromMs: first * ratio ** index,
    toMs: first * ratio ** (index + 1),
    share: 0,
  }));
  for (const { ms, count } of buckets) {
    const bin = bins[Math.min(length - 1, Math.floor(Math.log(ms / first) / Math.log(ratio)))];
    if (bin) bin.share += count / total;
  }
  return bins;
}

/** A bucket from its lowest value (1 ns at the least) up to that of the next. */
interface Bucket {
  ms: number;
  endMs: number;
  count: number;
}

/** The buckets that hold something, in ascending order. */
function recorded(base64: string): Bucket[] {
  const packed = Buffer.from(base64, 'base64');
  const plain = inflateSync(packed.subarray(8, 8 + packed.readUInt32BE(4)));
  const counts = plain.subarray(headBytes, headBytes + plain.readInt32BE(4));
  const buckets: Bucket[] = [];
  let index = 0;
  for (const number of zigZagNumbers(counts)) {
    if (number < 0) index -= number;
    else {
      const ms = Math.max(1, lowestValue(index)) / 1e6;
      if (number > 0) buckets.push({ ms, endMs: lowestValue(index + 1) / 1e6, count: number });
      index += 1;
    }
  }
  return buckets;
}

/** The least value, in ns, that a bucket counts: exact up to 2048, then ever twice as wide. */
function lowestValue(index: number): number {
  const exponent = Math.max(0, Math.floor(index / half) - 1);
  return (index - exponent * half) * 2 ** exponent;
}

/** Numbers coded as LEB128 and ZigZag; a negative one stands for so many empty buckets. Counts stay below 2^53. */
function* zigZagNumbers(data: Buffer): Generator<number> {
  let [coded, weight] = [0, 1];
  for (const byte of data) {
    coded += (byte & 0x7f) * weight;
    weight *= 128;
    if (byte < 0x80) {
      yield coded % 2 === 0 ? coded / 2 : -(coded + 1) / 2;
      [coded, weight] = [0, 1];
    }
  }
}
