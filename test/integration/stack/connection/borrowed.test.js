// A handle or a descriptor that somebody else has stays theirs: the server neither closes nor replaces it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('servers on borrowed handles and descriptors serve and close as with Node', {
  timeout: 60_000,
}, async () => {
  assert.equal(differences(await both('connection/borrowed-handles.js')), '');
});
