// HdrHistogram's V2 encoding: counts by bucket, compressed, base64.
import { inflateSync } from 'node:zlib';

/** Bounds and precision of a histogram, and the number of values in each of its buckets that has some. */
interface HdrHistogram {
  /** Significant decimal digits. */
  digits: number;
  lowest: bigint;
  highest: bigint;
  /** By index, ascending. */
  counts: Map<number, number>;
}

// Cookies, including the word size.
const PLAIN_COOKIE = 0x1c849313;
const COMPRESSED_COOKIE = 0x1c849314;
const COMPRESSED_HEADER_BYTES = 8;
const HEADER_BYTES = 40;

/**
 * Decodes a histogram.
 *
 * The format (HdrHistogram, `AbstractHistogram.java`, encodeIntoByteBuffer) is a cookie, the length of the deflated
 * data, and the data: a cookie, payload length, normalizing offset, significant digits, lowest and highest value,
 * ratio; then the counts as ZigZag LEB128, where a negative number -n means n counts of zero.
 *
 * @throws {RangeError} for another format, or where it is damaged
 */
export function decodeHistogram(base64: string): HdrHistogram {
  const outer = Buffer.from(base64, 'base64');
  assertCookie(outer, COMPRESSED_HEADER_BYTES, COMPRESSED_COOKIE);
  const bytes = inflate(outer.subarray(COMPRESSED_HEADER_BYTES));
  assertCookie(bytes, HEADER_BYTES, PLAIN_COOKIE);
  const counts = new Map<number, number>();
  let index = 0;
  for (const number of decodeZigZag(
    bytes.subarray(HEADER_BYTES, HEADER_BYTES + bytes.readInt32BE(4)),
  )) {
    if (number > 0) counts.set(index, number);
    index += number < 0 ? -number : 1;
  }
  return {
    digits: bytes.readInt32BE(12),
    lowest: bytes.readBigInt64BE(16),
    highest: bytes.readBigInt64BE(24),
    counts,
  };
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

function assertCookie(bytes: Buffer, header: number, cookie: number): void {
  if (bytes.length < header || bytes.readInt32BE(0) !== cookie) {
    throw new RangeError('not an HdrHistogram of version 2, compressed');
  }
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
