// The ways to write a response: the raw bytes are plain Node's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFull } from '../../../fixtures/size.js';
import { both } from '../../../fixtures/stack/comparison/run-both.js';
import { unlisted } from '../../../fixtures/stack/sweeps/differences.js';

/** Of so many combinations one is tried where not all are. */
const PARTS = isFull ? 1 : 17;

test('a response has the bytes of plain Node in whichever way it is written', async () => {
  const seen = await both('sweeps/writing.js', { args: [0, PARTS] });
  assert.ok(Object.keys(seen.plain).length > 32_000 / PARTS - 1);
  assert.equal(unlisted('writing', seen), '');
});
