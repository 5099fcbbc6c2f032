// Wrappers of sockets and servers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('sockets and servers work as with Node behind what applications lay around them', async () => {
  assert.equal(differences(await both('connection/wrapped-sockets.js')), '');
});
