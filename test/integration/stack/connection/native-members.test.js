// What a native socket has in place of a stream: the same as with Node, and using it makes no stream.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

/** Ends a connection that the application listens to, which is the stream's. */
const OF_STREAM = ['removeAllListeners'];

test('each member of a native socket does what it does with Node', async () => {
  const { plain, stack } = await both('connection/native-members.js');
  assert.deepEqual(stack.seen, plain.seen);
  const streams = Object.keys(stack.native).filter((name) => !stack.native[name]);
  assert.deepEqual(
    streams.filter((name) => !OF_STREAM.includes(name)),
    [],
  );
});

test("a connection has a parser of Node's own as long as with Node", async () => {
  assert.equal(differences(await both('connection/parsers.js')), '');
});
