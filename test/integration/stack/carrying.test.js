// Connections that Node's own code takes over: their sockets are the same before and after.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../fixtures/stack/both.js';

test('a socket carries the same when its connection is handed over', {
  timeout: 60_000,
}, async () => {
  assert.equal(differences(await both('carrying.js')), '');
});
