// What has come in one packet with a request's head is the request's, whatever its handler does to the connection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('a request of a destroyed connection gets the rest of its packet as with Node', {
  timeout: 60_000,
}, async () => {
  assert.equal(differences(await both('messages/destroyed-connections.js')), '');
});
