import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  computeRunSeconds,
  computeScatter,
  drawComparisons,
  estimators,
  pairRuns,
} from '../../../bench/compare/designs.js';
import { Noise } from '../../fixtures/noise.js';

const DESIGN = { estimator: 'pairs', minPairs: 6, width: 0.03, margin: 0.02 };

/** A run with these responses per window of 100 ms; its server takes 500 ms to start and stop. */
const runOf = (...completed) => ({
  completed,
  durationMs: completed.length * 100,
  spentMs: completed.length * 100 + 500,
});

/** Recorded pairs whose ratio is `ratio` but for a scatter of 1 % per run. */
function drawRecorded(ratio) {
  const noise = new Noise(1);
  return Array.from({ length: 60 }, () => [
    1000 * Math.exp(noise.normal(0.01)),
    1000 * ratio * Math.exp(noise.normal(0.01)),
  ]);
}

test('neighbors are pairs: A and B in the order A B B A, and between them two of one side', () => {
  const runs = [10, 20, 30, 40, 50, 60, 70, 80].map((count) => runOf(count));
  const { different, same } = pairRuns(runs, { warmup: 0, seconds: 0.1 });
  // A1 B2 B3 A4 A5 B6 B7 A8: requests per window, times ten.
  assert.deepEqual(different, [
    [100, 200],
    [400, 300],
    [500, 600],
    [800, 700],
  ]);
  assert.deepEqual(same, [
    [200, 300],
    [500, 400],
    [600, 700],
  ]);
});

test('the part of a run begins after its warm-up', () => {
  const runs = [runOf(1, 2, 3, 4, 5), runOf(5, 4, 3, 2, 1)];
  const { different } = pairRuns(runs, { warmup: 0.2, seconds: 0.2 });
  assert.deepEqual(different, [[35, 25]]);
  const seconds = computeRunSeconds(runs, { warmup: 0.25, seconds: 0.25 });
  assert.equal(seconds, 1);
});

test('the scatter is the standard deviation of the log ratios', () => {
  const pairs = [1, 2, 3].map((x) => [5, 5 * Math.exp(x)]);
  assert.ok(Math.abs(computeScatter(pairs) - 1) < 1e-12);
});

for (const estimator of Object.keys(estimators)) {
  test(`comparisons by ${estimator} find a difference of 5 %, and none of a server and itself`, () => {
    const settings = { design: { ...DESIGN, estimator }, runSeconds: 3, budget: 120, count: 200 };
    const slower = drawComparisons(drawRecorded(1 / 1.05), settings);
    const same = drawComparisons(drawRecorded(1), settings);
    assert.ok(slower.worse > 0.9, `${slower.worse} of the slower one`);
    assert.ok(same.better + same.worse < 0.02, `${same.better + same.worse} of itself`);
    assert.ok(same.same > 0.5, `${same.same} no difference`);
  });
}

test('a comparison ends with its budget', () => {
  const settings = { design: { ...DESIGN, width: 1e-6 }, runSeconds: 3, count: 5 };
  const { pairs, seconds } = drawComparisons(drawRecorded(1), { ...settings, budget: 61 });
  assert.deepEqual([pairs, seconds], [10, 60]);
  const none = drawComparisons(drawRecorded(1), { ...settings, budget: 7 });
  assert.deepEqual([none.pairs, none.unknown], [1, 1]);
});

test('in the order recorded there is one comparison from each A B B A on', () => {
  const pairs = drawRecorded(1);
  const settings = { design: DESIGN, runSeconds: 3, budget: 60, inOrder: true };
  const { better, worse, same, unknown } = drawComparisons(pairs, settings);
  const shares = [better, worse, same, unknown].map((share) => share * 30);
  assert.ok(shares.every((share) => Math.abs(share - Math.round(share)) < 1e-9));
});
