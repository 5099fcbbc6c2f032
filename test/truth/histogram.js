import { inflateSync } from 'node:zlib';

const COMPRESSED = 0x1c849314;
const PLAIN = 0x1c849313;
/** Half of the buckets that 3 significant digits take: 2048 / 2. */
const HALF = 1024;

/**
 * Decodes an HdrHistogram of the V2 format, compressed, base64, with 3 significant digits and nanoseconds. Returns
 * `[milliseconds, count]` for each bucket that holds something, in ascending order; a bucket stands for its lowest value.
 */
export function decodeHistogram(base64) {
  const outer = Buffer.from(base64, 'base64');
  expect(outer.readUInt32BE(0), COMPRESSED, 'cookie of a compressed V2 histogram');
  const inner = inflateSync(outer.subarray(8, 8 + outer.readUInt32BE(4)));
  expect(inner.readUInt32BE(0), PLAIN, 'cookie of a V2 histogram');
  expect(inner.readInt32BE(12), 3, 'significant digits');
  const counts = inner.subarray(40, 40 + inner.readInt32BE(4));
  const buckets = [];
  let index = 0;
  for (const number of zigZagNumbers(counts)) {
    // A negative one is so many empty buckets.
    if (number < 0) index -= number;
    else buckets.push([nanosOf(index++) / 1e6, number]);
  }
  return buckets.filter(([, count]) => count > 0);
}

/** How many samples lie at or above so many milliseconds. */
export function countAbove(buckets, ms) {
  return buckets.reduce((sum, [value, count]) => sum + (value >= ms ? count : 0), 0);
}

/** Lowest value of a bucket. */
function nanosOf(index) {
  const exponent = Math.max(0, Math.floor(index / HALF) - 1);
  return (index - exponent * HALF) * 2 ** exponent;
}

/** LEB128 of ZigZag-coded numbers; the ninth byte has eight bits. */
function* zigZagNumbers(bytes) {
  let at = 0;
  while (at < bytes.length) {
    let coded = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(bytes[at++]);
      const last = shift === 56n || byte < 0x80n;
      coded |= (shift === 56n ? byte : byte & 0x7fn) << shift;
      if (last) break;
    }
    yield Number((coded >> 1n) ^ -(coded & 1n));
  }
}

function expect(value, wanted, what) {
  if (value !== wanted) throw new Error(`${what}: ${value}, not ${wanted}`);
}
