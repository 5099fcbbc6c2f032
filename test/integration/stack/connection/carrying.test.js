// Connections that Node's own code takes over: their sockets are the same before and after.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/both.js';

test('a socket carries the same when its connection is handed over', {
  timeout: 60_000,
}, async () => {
  assert.equal(differences(await both('carrying.js')), '');
});

test('servers and sockets may be sent to a process; Node has no listener but those left to it', {
  timeout: 60_000,
}, async () => {
  const seen = await both('sending.cjs');
  assert.equal(differences(seen), '');
  assert.deepEqual(
    [seen.stack.server, seen.stack.socket, seen.stack.front],
    ['child', 'child', '192.0.2.7'],
  );
});
