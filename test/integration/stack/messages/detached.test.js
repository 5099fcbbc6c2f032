// A body without memory is refused, not sent as an empty one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('a detached body is refused as with Node', { timeout: 60_000 }, async () => {
  assert.equal(differences(await both('messages/detached-body.js')), '');
});
