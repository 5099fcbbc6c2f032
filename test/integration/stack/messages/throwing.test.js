// What one response's listener throws keeps no other response, and no connection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('responses finish as with Node if a listener or a callback of another one throws', {
  timeout: 60_000,
}, async () => {
  assert.equal(differences(await both('messages/throwing-callbacks.js')), '');
});

test("the end of a connection is noticed where a listener for 'clientError' throws", async () => {
  assert.equal(differences(await both('messages/two-exceptions.js')), '');
});
