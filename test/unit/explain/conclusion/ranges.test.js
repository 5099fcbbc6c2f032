// A property of all predicted ranges, for random findings: the low end is not above the high one, both are finite, and
// none is negative.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conclude } from '#internal/explain/conclusion/conclusion.js';
import { predictRemediedThroughput } from '#internal/explain/conclusion/prediction/remedy-prediction.js';
import { buildRandomFindings } from '../../../fixtures/explain/random-findings.js';

const SEEDS = Array.from({ length: 400 }, (_, index) => index + 1);

function assertRange(range, what) {
  if (range === null || range === undefined) return;
  const { low, high } = range;
  const isRange = Number.isFinite(low) && Number.isFinite(high) && low >= 0 && low <= high;
  assert.ok(isRange, `${what}: ${low} to ${high}`);
}

test('what remedies and other changes are predicted to yield is a range', () => {
  const limits = new Set();
  for (const seed of SEEDS) {
    const found = buildRandomFindings(seed);
    for (const chosen of found.hypotheses) {
      const { remedy } = conclude({ ...found, finding: { ...found.finding, chosen } }, []);
      const what = `seed ${seed}, ${chosen.limit}`;
      assertRange(remedy.predictedThroughput, what);
      assertRange(remedy.predictedP99Ms, what);
      for (const { change, predictedThroughput } of remedy.alternatives ?? [])
        assertRange(predictedThroughput, `${what}, ${change}`);
      if (predictRemediedThroughput(chosen, found)) limits.add(chosen.limit);
    }
  }
  assert.ok(limits.size > 15, `predictions of ${limits.size} limits`);
});

test('what limits predict of experiments is a range', () => {
  for (const seed of SEEDS) {
    for (const { limit, predictions } of buildRandomFindings(seed).hypotheses) {
      for (const [name, range] of Object.entries(predictions))
        assertRange(range, `seed ${seed}, ${limit}, ${name}`);
    }
  }
});
