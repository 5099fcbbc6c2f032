// The limits of time: who is closed when, and who hears of it, is as with plain Node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFull } from '../../../fixtures/size.js';
import { both } from '../../../fixtures/stack/comparison/run-both.js';
import { unlisted } from '../../../fixtures/stack/sweeps/differences.js';

/** Cases of so many parts run at once; one part, where not all run. */
const PARTS = 27;
/** How often cases that differ run again, alone; what a busy machine has delayed too much does not count. */
const REPEATS = 2;
const MAX_ATTEMPTS = 5;
const MAX_LATENESS_MS = 80;

async function see(args) {
  const { plain, stack } = await both('sweeps/time.js', { args });
  return {
    seen: { plain: plain.seen, stack: stack.seen },
    isLate: Math.max(plain.latenessMs, stack.latenessMs) > MAX_LATENESS_MS,
    total: plain.total,
  };
}

const findUnlisted = ({ plain, stack }) =>
  Object.keys(plain).filter((name) => {
    const one = { plain: { [name]: plain[name] }, stack: { [name]: stack[name] } };
    return unlisted('time', one) !== '';
  });

/** What differs in each of several runs. */
async function findDifferences(part) {
  let { seen, total } = await see([part, PARTS]);
  assert.ok(Object.keys(seen.plain).length > total / PARTS - 1);
  let repeats = 0;
  for (let attempt = 0; attempt < MAX_ATTEMPTS && repeats < REPEATS; attempt++) {
    const names = findUnlisted(seen);
    if (names.length === 0) return '';
    const again = await see([JSON.stringify(names)]);
    if (!again.isLate) repeats++;
    seen = again.seen;
  }
  return unlisted('time', seen);
}

for (let part = 0; part < (isFull ? PARTS : 1); part++) {
  test(`limits of time end connections when they do with plain Node: part ${part}`, async () => {
    assert.equal(await findDifferences(part), '');
  });
}
