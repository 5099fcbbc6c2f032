// Servers that are closed while they have connections of every kind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retried } from '../../fixtures/retry.js';
import { both, differences } from '../../fixtures/stack/both.js';

const MAJOR = Number.parseInt(process.versions.node, 10);
/** On Node.js 20 and 22, a response that its client has not taken finishes when its connection is destroyed. */
const FINISHES = MAJOR < 24 ? /that has more to read$/ : /^$/;

test('closing ends, and keeps, the same connections as with Node', {
  timeout: 120_000,
}, async () => {
  // What was sent arrives in a few turns of the event loop, but for a machine that is busy with other things.
  await retried(
    () => both('closing.js'),
    (seen) => assert.equal(differences(seen, FINISHES), ''),
  );
});
