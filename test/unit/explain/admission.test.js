// Which requests are followed to see what they wait for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission } from '#internal/probe/waits/admission.cjs';

const [BURSTS, SIZE] = [400, 10];
const COST_MS = 0.2;

/** Requests that arrive ten at a time, a millisecond after those before; each that is admitted costs 0.2 ms. */
function admitBursts(share) {
  const admission = new Admission(share);
  const represented = Array.from({ length: SIZE }, () => 0);
  let admitted = 0;
  const from = performance.now();
  for (let burst = 0; burst < BURSTS; burst++) {
    const until = performance.now() + 1;
    while (performance.now() < until);
    for (let place = 0; place < SIZE; place++) {
      const count = admission.decide();
      represented[place] += count;
      if (count === 0) continue;
      admitted++;
      admission.spend(COST_MS);
    }
  }
  return { represented, spentShare: (admitted * COST_MS) / (performance.now() - from) };
}

test('requests that arrive together are admitted alike, whatever their order, and stand for all', () => {
  const { represented } = admitBursts(0.5);
  const sum = represented.reduce((all, one) => all + one, 0);
  // About 1000 of 4000: the sum is exact to 3 % and the part of a place to 10 % (a standard deviation).
  assert.ok(Math.abs(sum / (BURSTS * SIZE) - 1) < 0.2, `${sum}`);
  for (const one of represented) assert.ok(Math.abs(one / BURSTS - 1) < 0.6, `${represented}`);
});

test('what is spent is about a share of the time', () => {
  const { spentShare } = admitBursts(0.1);
  assert.ok(spentShare > 0.05 && spentShare < 0.2, `${spentShare}`);
});
