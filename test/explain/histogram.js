import { deflateSync } from 'node:zlib';

const COMPRESSED = 0x1c849314;
const PLAIN = 0x1c849313;

/** An HdrHistogram as the engine gives it (V2, compressed, base64, 3 digits, ns) of `[ms, count]` in any order. */
export function encodeHistogram(samples) {
  const counts = new Map();
  for (const [ms, count] of samples) {
    const index = indexOf(Math.round(ms * 1e6));
    counts.set(index, (counts.get(index) ?? 0) + count);
  }
  const bytes = [];
  let next = 0;
  for (const [index, count] of [...counts].sort(([a], [b]) => a - b)) {
    if (index > next) bytes.push(...zigZag(next - index));
    bytes.push(...zigZag(count));
    next = index + 1;
  }
  const head = Buffer.alloc(40);
  head.writeUInt32BE(PLAIN, 0);
  head.writeInt32BE(bytes.length, 4);
  head.writeInt32BE(3, 12);
  const packed = deflateSync(Buffer.concat([head, Buffer.from(bytes)]));
  const outer = Buffer.alloc(8);
  outer.writeUInt32BE(COMPRESSED, 0);
  outer.writeUInt32BE(packed.length, 4);
  return Buffer.concat([outer, packed]).toString('base64');
}

/** The bucket of a value in ns: below 2048 exact, then 1024 for each doubling. */
function indexOf(nanos) {
  const exponent = Math.max(0, Math.floor(Math.log2(nanos)) - 10);
  return exponent * 1024 + Math.floor(nanos / 2 ** exponent);
}

/** LEB128 of a ZigZag-coded number. */
function zigZag(number) {
  let coded = number < 0 ? -2 * number - 1 : 2 * number;
  const bytes = [];
  while (coded >= 0x80) {
    bytes.push((coded % 0x80) + 0x80);
    coded = Math.floor(coded / 0x80);
  }
  return [...bytes, coded];
}
