// Methods of Node's prototypes stay where Node has them, so that replacements of an application are called.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('methods that are replaced after the stack is loaded are called as with Node', {
  timeout: 60_000,
}, async () => {
  const seen = await both('process/methods-replaced-later.js');
  assert.ok(seen.plain.called.length > 8, seen.plain.called.join());
  assert.equal(differences(seen), '');
});
