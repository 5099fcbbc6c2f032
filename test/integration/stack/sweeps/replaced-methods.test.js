// Methods of Node's prototypes and objects that an application replaces: they are called as plain Node calls them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFull } from '../../../fixtures/size.js';
import { both } from '../../../fixtures/stack/comparison/run-both.js';
import { unlisted } from '../../../fixtures/stack/sweeps/differences.js';

/** Cases of so many parts run at once; one part, where not all run. */
const PARTS = 29;
const TRIED = isFull ? PARTS : 1;

for (let part = 0; part < TRIED; part++) {
  test(`a method that was replaced is called as with plain Node: part ${part}`, async () => {
    const { plain, stack } = await both('sweeps/replaced-methods.js', { args: [part, PARTS] });
    assert.ok(Object.keys(plain.seen).length > plain.total / PARTS - 1);
    assert.equal(unlisted('replaced methods', { plain: plain.seen, stack: stack.seen }), '');
  });
}
