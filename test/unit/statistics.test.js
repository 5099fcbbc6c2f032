import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { findChangePoints } from '#internal/statistics/change-points.js';
import {
  computeQuantileMs,
  computeTruncatedMeanMs,
  decodeDurations,
  estimateUncensored,
  isQuantileKnown,
  mergeDurations,
  toDurations,
} from '#internal/statistics/durations.js';
import { estimateNoiseFloor } from '#internal/statistics/noise.js';
import { estimateRatio } from '#internal/statistics/ratio.js';
import { studentQuantile } from '#internal/statistics/student.js';
import { Noise } from '../fixtures/noise.js';

/** Share of the runs for which it holds. */
const shareOf = (runs, holds) => Array.from({ length: runs }, holds).filter(Boolean).length / runs;
const within = (low, value, high, what) =>
  assert.ok(low <= value && value <= high, `${what}: ${value} is not within ${low} and ${high}`);
const covers = ({ low, high }, truth) => low <= truth && truth <= high;
const times = (count, make) => toDurations(Array.from({ length: count }, make));

describe('ratio of paired blocks', () => {
  const noise = new Noise(1);
  const scatters = {
    normal: () => noise.normal(0.03),
    'every tenth block 5 times as noisy': () => noise.normal(noise.uniform() < 0.1 ? 0.15 : 0.03),
    'blocks that only lose': () => -noise.exponential(0.03),
  };
  const measure = (count, ratio, scatter) =>
    estimateRatio(
      Array.from({ length: count }, () => [
        1000 * Math.exp(scatter()),
        1000 * ratio * Math.exp(scatter()),
      ]),
    );

  for (const [name, scatter] of Object.entries(scatters)) {
    for (const count of [3, 4, 6, 8]) {
      test(`the interval covers the true ratio 95 times of 100 with ${count} pairs and ${name}`, () => {
        const covered = shareOf(4000, () => covers(measure(count, 1.7, scatter), 1.7));
        within(0.93, covered, 0.98, 'coverage');
      });
    }
  }

  test('more pairs make the interval narrower', () => {
    const width = (count) => {
      const measured = Array.from({ length: 200 }, () => measure(count, 2, scatters.normal));
      return measured.reduce((sum, { low, high }) => sum + Math.log(high / low), 0);
    };
    assert.ok(width(3) > 1.5 * width(5) && width(5) > 1.2 * width(8));
  });

  test('the ratio is the reciprocal if the sides are exchanged', () => {
    const pairs = [3, 5, 8].map((x) => [x, x * (2 + noise.uniform())]);
    const there = estimateRatio(pairs);
    const back = estimateRatio(pairs.map(([before, after]) => [after, before]));
    within(1 - 1e-9, there.ratio * back.ratio, 1 + 1e-9, 'product');
    within(1 - 1e-9, there.low * back.high, 1 + 1e-9, 'product of the ends');
  });

  test('one bad block of six does not move the estimate', () => {
    const pairs = [2, 2.02, 1.98, 2.01, 1.99, 0.5].map((ratio) => [100, 100 * ratio]);
    within(1.9, estimateRatio(pairs).ratio, 2.05, 'ratio');
  });

  test('one pair has no scatter', () => {
    assert.deepEqual(estimateRatio([[2, 3]]), {
      ratio: Math.exp(Math.log(1.5)),
      low: 0,
      high: Number.POSITIVE_INFINITY,
      pairs: 1,
    });
  });

  test('equal pairs have an interval', () => {
    const { ratio, low, high } = estimateRatio(Array.from({ length: 4 }, () => [5, 5]));
    assert.equal(ratio, 1);
    assert.ok(low < 0.995 && high > 1.005);
  });

  test('a block without any response has the ratio 0', () => {
    const { ratio, low, high } = estimateRatio([
      [10, 0],
      [10, 0],
      [10, 5],
    ]);
    assert.deepEqual([ratio, low, high], [0, 0, 0.5]);
  });
});

describe("Student's t", () => {
  // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2; two-sided.
  const table = {
    0.9: { 1: 6.314, 2: 2.92, 3: 2.353, 5: 2.015, 10: 1.812, 30: 1.697, 100: 1.66 },
    0.95: { 1: 12.706, 2: 4.303, 3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042, 100: 1.984 },
    0.98: { 1: 31.821, 2: 6.965, 3: 4.541, 5: 3.365, 10: 2.764, 30: 2.457, 100: 2.364 },
    0.99: { 1: 63.657, 2: 9.925, 3: 5.841, 5: 4.032, 10: 3.169, 30: 2.75, 100: 2.626 },
    0.998: { 1: 318.313, 2: 22.327, 3: 10.215, 5: 5.893, 10: 4.144, 30: 3.385, 100: 3.174 },
  };

  for (const [confidence, row] of Object.entries(table)) {
    test(`Student's t equals the published table at a confidence of ${confidence}`, () => {
      for (const [freedom, quantile] of Object.entries(row)) {
        const actual = studentQuantile(Number(freedom), Number(confidence));
        within(quantile * 0.9999 - 5e-4, actual, quantile * 1.0001 + 5e-4, freedom);
      }
    });
  }

  test("Student's t is exact where there is a formula", () => {
    for (const confidence of [0.01, 0.5, 0.9, 0.95, 0.999, 0.99999, 0.9999999]) {
      const one = Math.tan((Math.PI / 2) * confidence);
      within(one * (1 - 1e-7), studentQuantile(1, confidence), one * (1 + 1e-7), confidence);
      const two = confidence * Math.sqrt(2 / (1 - confidence ** 2));
      within(two * (1 - 1e-7), studentQuantile(2, confidence), two * (1 + 1e-7), confidence);
    }
  });

  test("Student's t approaches the normal distribution, and never falls between whole degrees of freedom", () => {
    within(1.95996, studentQuantile(1e7), 1.95997, 'normal');
    within(4.41717, studentQuantile(1e7, 0.99999), 4.41718, 'normal');
    const quantiles = Array.from({ length: 60 }, (_, i) => studentQuantile(1 + i / 4, 0.99));
    assert.ok(quantiles.every((value, i) => i === 0 || value < quantiles[i - 1]));
  });
});

describe('noise floor', () => {
  test('the noise floor is twice the difference of two equal blocks, and at least 3 %', () => {
    within(0.1999, estimateNoiseFloor([100, 100 * Math.exp(0.1)]), 0.2001, 'two blocks');
    assert.equal(estimateNoiseFloor([100, 101, 100.5]), 0.03);
    assert.equal(estimateNoiseFloor([100]), 0.1);
    assert.equal(estimateNoiseFloor([0, 0]), 0.1);
  });

  test('two further blocks seldom differ by more than the noise floor', () => {
    const noise = new Noise(2);
    const block = () => Math.exp(noise.normal(0.05));
    const told = shareOf(2000, () => {
      const floor = estimateNoiseFloor([block(), block(), block(), block()]);
      return Math.abs(Math.log(block() / block())) > floor;
    });
    assert.ok(told < 0.2, `${told}`);
  });
});

describe('change points', () => {
  const noise = new Noise(4);
  const stepped = (correlation, height, at = 60) =>
    noise.correlated(100, correlation).map((x, t) => x + (t >= at ? height : 0));

  test('a series without a step has no change point', () => {
    assert.ok(shareOf(1000, () => findChangePoints(noise.correlated(100, 0)).length > 0) < 0.03);
    assert.ok(shareOf(1000, () => findChangePoints(noise.correlated(100, 0.5)).length > 0) < 0.06);
    assert.deepEqual(findChangePoints(new Array(50).fill(3)), []);
    assert.deepEqual(findChangePoints([1, 2]), []);
  });

  test('a step of three deviations is found at its place', () => {
    const found = shareOf(300, () => {
      const points = findChangePoints(stepped(0.3, 3));
      return points.some(({ index }) => Math.abs(index - 60) <= 3);
    });
    assert.ok(found > 0.95, `${found}`);
  });

  test('both levels of a step are reported', () => {
    const [{ index, before, after }, ...others] = findChangePoints(
      Array.from({ length: 60 }, (_, t) => (t < 25 ? 10 : 20) + (t % 2) / 10),
    );
    assert.deepEqual([index, others], [25, []]);
    within(10, before, 10.1, 'before');
    within(20, after, 20.1, 'after');
  });

  test('two steps are two change points', () => {
    const values = noise
      .correlated(120, 0)
      .map((x, t) => x + (t >= 40 ? 8 : 0) - (t >= 80 ? 5 : 0));
    assert.deepEqual(
      findChangePoints(values).map(({ index }) => Math.round(index / 10) * 10),
      [40, 80],
    );
  });

  test('a stall of five windows is not a change point', () => {
    const values = noise.correlated(100, 0).map((x, t) => (t >= 50 && t < 55 ? 1000 : x));
    assert.deepEqual(findChangePoints(values), []);
  });
});

describe('times of a result', () => {
  const directory = new URL('../fixtures/', import.meta.url);
  const fixtures = readdirSync(directory).filter((name) => name.endsWith('.json'));
  for (const name of fixtures) {
    const { histograms, latencyMs, serviceTimeMs } = JSON.parse(
      readFileSync(new URL(name, directory), 'utf8'),
    );
    for (const [histogram, censored, summary] of [
      [histograms.latency, histograms.latencyCensored, latencyMs],
      [histograms.serviceTime, histograms.serviceTimeCensored, serviceTimeMs],
    ]) {
      test(`the times of a result agree with its summary: ${name}`, () => {
        const decoded = estimateUncensored(decodeDurations(histogram), decodeDurations(censored));
        assert.equal(decoded.count, summary.count);
        assert.equal(decodeDurations(censored).count, summary.censored);
        if (decoded.count === 0) return;
        assert.equal(isQuantileKnown(decoded, 0.999), !summary.atLeast.p99_9);
        for (const [q, ms] of [
          [0.5, summary.p50],
          [0.9, summary.p90],
          [0.99, summary.p99],
          [1, summary.max],
        ]) {
          within(ms * 0.999, computeQuantileMs(decoded, q), ms * 1.001, `quantile ${q}`);
        }
        within(
          summary.mean * 0.999,
          computeTruncatedMeanMs(decoded, Number.POSITIVE_INFINITY),
          summary.mean * 1.001,
          'mean',
        );
      });
    }
  }

  test('unfinished requests are estimated from finished ones', () => {
    const sets = [
      { samples: [1, 2, 3, 4], censored: [], quantiles: [1, 2, 3, 4], mean: 2.5 },
      // A service of 10: who was asked late was seen for less.
      { samples: [10, 10, 10, 2, 4, 6, 8], censored: [2, 4, 6, 8], quantiles: [10, 10, 10, 10] },
      // Of three that outlast 1 one ends at 4; of the two beyond one is not seen to end.
      {
        samples: [1, 1, 2, 4, 5],
        censored: [1, 2, 5],
        quantiles: [1, 4, 5, 5],
        mean: 3.8,
        known: 0.6,
      },
      { samples: [3, 7], censored: [3, 7], quantiles: [7, 7, 7, 7], mean: 7, known: 0 },
    ];
    for (const { samples, censored, quantiles, mean = 10, known = 1 } of sets) {
      const times = estimateUncensored(
        ...[samples, censored].map((it) => mergeDurations([toDurations(it)])),
      );
      assert.deepEqual(
        [0.2, 0.5, 0.75, 1].map((q) => computeQuantileMs(times, q)),
        quantiles,
      );
      within(
        mean - 1e-9,
        computeTruncatedMeanMs(times, Number.POSITIVE_INFINITY),
        mean + 1e-9,
        'mean',
      );
      assert.equal(isQuantileKnown(times, known), true);
      assert.equal(isQuantileKnown(times, known + 0.01), false);
    }
  });

  test('other bytes are refused', () => {
    assert.throws(() => decodeDurations('AAAA'), /not an HdrHistogram/);
    assert.throws(
      () => decodeDurations(Buffer.alloc(100).toString('base64')),
      /not an HdrHistogram/,
    );
  });
});

describe('times with a limit', () => {
  const noise = new Noise(6);

  test('the mean with a limit accounts for the timeouts of a slow dependency', () => {
    const healthy = times(10, (_, index) => (index === 0 ? 10_000 : 100));
    within(1089.9, computeTruncatedMeanMs(healthy, Number.POSITIVE_INFINITY), 1090.1, 'mean');
    within(389.9, computeTruncatedMeanMs(healthy, 3000), 390.1, 'mean with 3 s');
    const exponential = times(20_000, () => noise.exponential(100));
    within(
      61,
      computeTruncatedMeanMs(exponential, 100),
      65.5,
      'of an exponential: 1 - 1/e of the mean',
    );
  });
});
