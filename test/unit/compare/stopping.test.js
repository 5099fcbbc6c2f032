import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareRuns } from '#internal/compare/rows/rows.js';
import { MIN_PAIRS, wantsMoreRuns } from '#internal/compare/stopping.js';
import { Noise } from '../../fixtures/noise.js';
import { buildPairs } from './runs.js';

const RULE = { metric: 'throughput', width: 0.03 };
const repeat = (count, [a, b]) => buildPairs(Array.from({ length: count }, () => [a, b]));

test('more runs are wanted until there are enough pairs, however alike they are', () => {
  assert.equal(wantsMoreRuns([], RULE), true);
  for (let pairs = 1; pairs < MIN_PAIRS; pairs++) {
    assert.equal(wantsMoreRuns(repeat(pairs, [100, 100]), RULE), true);
  }
  assert.equal(wantsMoreRuns(repeat(MIN_PAIRS, [100, 100]), RULE), false);
});

test('the runs end with a whole A B B A', () => {
  assert.equal(wantsMoreRuns(repeat(MIN_PAIRS + 1, [100, 100]), RULE), true);
  const runs = repeat(MIN_PAIRS + 2, [100, 100]);
  assert.equal(wantsMoreRuns(runs.slice(0, -1), RULE), true);
  assert.equal(wantsMoreRuns(runs, RULE), false);
});

test('the width decides, never where the interval lies', () => {
  const noise = new Noise(5);
  for (let i = 0; i < 50; i++) {
    const scatter = 0.005 * (1 + (i % 8));
    const pairs = Array.from({ length: MIN_PAIRS }, () => [
      100 * Math.exp(noise.normal(scatter)),
      100 * Math.exp(noise.normal(scatter)),
    ]);
    const { rows } = compareRuns(buildPairs(pairs), { margin: 0.02, metric: 'throughput' });
    const isWide = rows[0].ratio.high / rows[0].ratio.low > 1 + RULE.width;
    for (const factor of [0.5, 0.97, 1, 3]) {
      const moved = buildPairs(pairs.map(([a, b]) => [a, b * factor]));
      assert.equal(wantsMoreRuns(moved, RULE), isWide);
    }
  }
});

test('a figure of 0 has no interval that could be narrow', () => {
  assert.equal(wantsMoreRuns(repeat(10, [100, 0]), RULE), true);
  assert.equal(wantsMoreRuns(repeat(10, [0, 0]), RULE), true);
});

for (const [what, draw] of Object.entries({
  normal: (noise) => noise.normal(0.012),
  'every tenth run 5 times as noisy': (noise) => noise.normal(noise.uniform() < 0.1 ? 0.04 : 0.008),
})) {
  test(`the interval at the end covers the truth 95 times of 100: ${what}`, () => {
    const noise = new Noise(11);
    const count = 800;
    let covered = 0;
    for (let i = 0; i < count; i++) {
      const pairs = [];
      let runs = [];
      do {
        pairs.push([Math.exp(draw(noise)), 1.7 * Math.exp(draw(noise))]);
        runs = buildPairs(pairs);
      } while (wantsMoreRuns(runs, RULE));
      const { low, high } = compareRuns(runs, { margin: 0.02, metric: 'throughput' }).rows[0].ratio;
      if (low <= 1.7 && 1.7 <= high) covered += 1;
    }
    const share = covered / count;
    assert.ok(0.935 < share && share < 0.99, `${share}`);
  });
}
