// The ways in which a process ends: its clients receive what they receive of plain Node, and it ends alike.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFull } from '../../../fixtures/size.js';
import { both } from '../../../fixtures/stack/comparison/run-both.js';
import { unlisted } from '../../../fixtures/stack/sweeps/differences.js';

/** Cases of so many parts run at once; one part, where not all run. */
const PARTS = 25;
const TRIED = isFull ? PARTS : 1;

for (let part = 0; part < TRIED; part++) {
  test(`clients of a process that ends get what plain Node sends: part ${part}`, async () => {
    const { plain, stack } = await both('sweeps/process-ends.js', { args: [part, PARTS] });
    assert.ok(Object.keys(plain.seen).length > plain.total / PARTS - 1);
    assert.equal(unlisted('process ends', { plain: plain.seen, stack: stack.seen }), '');
  });
}
