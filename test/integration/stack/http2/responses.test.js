// Everything that applications do with a response comes to the same over HTTP/2 on the stack as over HTTP/1.1 on plain Node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFull } from '../../../fixtures/size.js';
import { runOnPlain, runOnStack } from '../../../fixtures/stack/comparison/run-both.js';

/** What differs, and why. */
const DIFFERENCES = [
  {
    name: /^heads: length and chunked/,
    reason: 'a client of HTTP/1.1 refuses a response with both; HTTP/2 has no transfer codings',
  },
  {
    name: /^heads: 204 with length/,
    reason: 'the client of HTTP/2 (nghttp2) hides the length of what has no content',
  },
  {
    name: /^writes: behind one that was full/,
    reason: 'the window of the stream is full until the client has read; a socket takes more',
  },
  {
    name: /^misuse: destroyed after a part/,
    reason: 'as over HTTP/1.1 on the stack: what was written before a destroy() is sent',
  },
  {
    name: /^looks: state before and after/,
    of: 'h2',
    reason: 'over TLS, what end() has written does not count as waiting until it is reported',
  },
];
/** The port of the server. */
const PORT = /localhost:\d+/g;

const parts = isFull ? 1 : 3;
const program = 'http2/responses.js';

async function seen(run, protocol) {
  const { stdout } = await run(program, { args: [protocol, 0, parts] });
  return JSON.parse(stdout.replaceAll(PORT, 'localhost'));
}

for (const [protocol, plain] of [
  ['h2c', 'http'],
  ['h2', 'https'],
]) {
  test(`responses over ${protocol} are those over ${plain}`, async () => {
    const [expected, came] = await Promise.all([
      seen(runOnPlain, plain),
      seen(runOnStack, protocol),
    ]);
    const known = (name) =>
      DIFFERENCES.some((one) => (one.of ?? protocol) === protocol && one.name.test(name));
    for (const [name, one] of Object.entries(expected)) {
      const { code, ...rest } = came[name].came;
      if (!known(name))
        assert.deepEqual({ ...came[name], came: rest }, one, `${name}, reset ${code}`);
    }
    assert.ok(Object.keys(expected).length > 150);
  });
}
