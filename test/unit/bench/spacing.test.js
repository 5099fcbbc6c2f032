import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureSpacing } from '../../../bench/load/spacing.js';

const MS = 1e6;
const everyMs = Array.from({ length: 1000 }, (_, index) => 5 * MS + index * MS);

test('arrivals as scheduled have no deviation', () => {
  const { arrivals, rate, gapUs, behindUs } = measureSpacing(everyMs, 1000);
  assert.equal(arrivals, 1000);
  assert.equal(Math.round(rate), 1000);
  assert.deepEqual(gapUs, { p50: 0, p99: 0, max: 0 });
  assert.deepEqual(behindUs, { p50: 0, p99: 0, max: 0 });
});

test('one late arrival is behind the schedule and spoils two gaps', () => {
  const late = everyMs.with(500, everyMs[500] + 0.3 * MS);
  const { gapUs, behindUs } = measureSpacing(late, 1000);
  assert.deepEqual(gapUs, { p50: 0, p99: 0, max: 300 });
  assert.equal(behindUs.max, 300);
});

test('bursts are behind the schedule although their rate is right', () => {
  const bursts = everyMs.map((ns, index) => ns - (index % 100) * MS);
  const { gapUs, behindUs } = measureSpacing(bursts, 1000);
  assert.equal(gapUs.p50, 1000);
  assert.equal(behindUs.p99, 98_000);
});
