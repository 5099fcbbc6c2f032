// Requests made wrong, or at least unusual.

/** What parsers stumble over. */
const TOKENS = [
  ...[
    '\r\n',
    '\r',
    '\n',
    '\0',
    ' ',
    '\t',
    ':',
    ',',
    ';',
    '=',
    '"',
    '\\',
    '\x7f',
    '\x80',
    '\xff',
    '\x0b',
  ],
  ...[
    'Content-Length: 5\r\n',
    'Content-Length: 0\r\n',
    'Transfer-Encoding: chunked\r\n',
    'chunked',
  ],
  ...[
    'Connection: close\r\n',
    'Connection: keep-alive\r\n',
    'Connection: upgrade\r\n',
    'Upgrade: x\r\n',
  ],
  ...[
    'Expect: 100-continue\r\n',
    'Host: b\r\n',
    'Trailer: X\r\n',
    'X: 1\r\n',
    ' folded\r\n',
    '\r\n\r\n',
  ],
  ...[
    '0\r\n\r\n',
    '5\r\nhello\r\n',
    'ffffffffffffffff',
    '-1',
    '+1',
    '0x1',
    '5;a=b',
    ';a="b"',
    'GET / ',
  ],
  ...[
    'HTTP/1.0',
    'HTTP/1.1',
    'HTTP/2.0',
    'http://b/',
    '*',
    'CONNECT b:1 ',
    'HEAD / ',
    'PRI * HTTP/2.0\r\n',
  ],
].map((token) => Buffer.from(token, 'latin1'));

/** One to three changes to `bytes`; `other` lends a part. */
export function mutate(random, bytes, other) {
  let changed = bytes;
  for (let left = 1 + random.below(3); left > 0; left--) changed = change(random, changed, other);
  return changed;
}

function change(random, bytes, other) {
  const at = random.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + random.below(1 + random.one([1, 4, 30])));
  const [before, inside, after] = [
    bytes.subarray(0, at),
    bytes.subarray(at, end),
    bytes.subarray(end),
  ];
  switch (random.below(6)) {
    case 0:
      return Buffer.concat([before, random.one(TOKENS), bytes.subarray(at)]);
    case 1:
      return Buffer.concat([before, random.one(TOKENS), after]);
    case 2:
      return Buffer.concat([before, after]);
    case 3:
      return Buffer.concat([before, inside, inside, after]);
    case 4:
      return Buffer.concat([before, Buffer.of(random.below(256)), bytes.subarray(at + 1)]);
    default: {
      const from = random.below(other.length + 1);
      return Buffer.concat([before, other.subarray(from, from + random.below(60)), after]);
    }
  }
}
