import assert from 'node:assert/strict';
import { test } from 'node:test';
import { correctConfidences } from '#internal/compare/rows/holm.js';

/** Rows that tell something at an error of at least `p`. */
const claimsOf = (...values) => values.map((p) => ({ tells: (confidence) => 1 - confidence >= p }));
const errorsOf = (claims) =>
  correctConfidences(claims, 0.95).map((confidence) => Number((1 - confidence).toFixed(6)));

test('of four rows, Holm divides the error by the rows that are left', () => {
  // Holm: 0.01 <= 0.05 / 4; then 0.015 <= 0.05 / 3; then 0.03 > 0.05 / 2, where it ends.
  assert.deepEqual(errorsOf(claimsOf(0.03, 0.01, 0.015, 0.04)), [0.025, 0.0125, 0.016667, 0.025]);
});

test('rows that tell at the same error keep it', () => {
  assert.deepEqual(errorsOf(claimsOf(0.001, 0.001, 0.04)), [0.016667, 0.016667, 0.05]);
});

test('where no row tells anything, all have the error divided by their number', () => {
  assert.deepEqual(errorsOf(claimsOf(0.03, 0.03)), [0.025, 0.025]);
});

test('a single row is not corrected, and no row is no fault', () => {
  assert.deepEqual(errorsOf(claimsOf(1)), [0.05]);
  assert.deepEqual(errorsOf([]), []);
});
