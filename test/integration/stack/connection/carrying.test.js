// Connections that Node's own code takes over: their sockets are the same before and after.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('a socket has the same properties after its connection has fallen back', {
  timeout: 60_000,
}, async () => {
  assert.equal(differences(await both('connection/taken-over-sockets.js')), '');
});

test("servers and sockets can be sent to a process, and only Node's remaining listeners are called", {
  timeout: 60_000,
}, async () => {
  const seen = await both('connection/sent-sockets.cjs');
  assert.equal(differences(seen), '');
  assert.deepEqual(
    [seen.stack.server, seen.stack.socket, seen.stack.front],
    ['child', 'child', '192.0.2.7'],
  );
});
