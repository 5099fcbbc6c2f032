// Clients that leave, in every way and at every point of an exchange: servers hear the same of it as with Node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retried } from '../../../fixtures/retry.js';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

const MAJOR = Number.parseInt(process.versions.node, 10);
/** A connection's own 'finish' comes a turn earlier, and a reset behind the end is heard when it comes; see "What differs". */
const ENDS =
  'that ends the connection|half-open: a client (ends its side|closes) (while|having sent a body)';
/** On Node.js 20 and 22, a response whose end its connection could not take any more says 'drain'. */
const DRAINS =
  MAJOR < 24 ? '|a client ends its side while a response that it does not take streams' : '';
const KNOWN = new RegExp(ENDS + DRAINS);

test('servers see the same events as with Node if clients go away', {
  timeout: 120_000,
}, async () => {
  // What was sent arrives in a few turns of the event loop, but for a machine that is busy with other things.
  await retried(
    () => both('connection/leaving-clients.js'),
    (seen) => assert.equal(differences(seen, KNOWN), ''),
  );
});
