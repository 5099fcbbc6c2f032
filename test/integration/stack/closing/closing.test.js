// Servers that are closed while they have connections of every kind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retried } from '../../../fixtures/retry.js';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('the same connections are closed and kept as with Node', {
  timeout: 120_000,
}, async () => {
  // What was sent arrives in a few turns of the event loop, but for a machine that is busy with other things.
  await retried(
    () => both('connection/closing-servers.js'),
    (seen) => assert.equal(differences(seen), ''),
  );
});
