// Servers that are given connections by the application answer as with Node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('connections that the application passes to a server are served as with Node', {
  timeout: 60_000,
}, async () => {
  assert.equal(differences(await both('connection/given-connections.js')), '');
});
