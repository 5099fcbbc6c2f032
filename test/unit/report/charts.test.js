// What the charts of reports are made of: bins of histograms, scales and their ticks.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { buildLogBins } from '#internal/report/distributions/histogram.js';
import {
  createLogScale,
  listDecades,
  listMultiples,
  listPowersOfTwo,
} from '#internal/report/html/charts/scale.js';
import { decodeDurations, estimateLatencies } from '#internal/statistics/durations.js';
import { encodeHistogram } from '../../fixtures/explain/histogram.js';
import { Random } from '../../fixtures/random.js';
import { decodeHistogram } from '../../fixtures/truth/histogram.js';

/** Numbers from 0 to 1 that a seed determines. */
function uniformOf(seed) {
  const random = new Random(seed);
  return () => random.below(2 ** 30) / 2 ** 30;
}

describe('bins of a histogram', () => {
  const fixtures = ['closed', 'open-freeze', 'server', 'tls-errors'];
  for (const name of fixtures) {
    test(`the bins of ${name} contain the same samples as another reader of the histogram finds`, () => {
      const file = new URL(`../../fixtures/report-${name}.json`, import.meta.url);
      const { histograms, latencyMs } = JSON.parse(readFileSync(file, 'utf8'));
      const bins = buildLogBins(decodeDurations(histograms.latency), 60);
      const known = decodeHistogram(histograms.latency);
      const total = known.reduce((sum, [, count]) => sum + count, 0);
      assert.equal(total, latencyMs.count);
      for (const { fromMs, toMs, share } of bins) {
        // What lies at a bound, but for the histogram's precision, may be on either side.
        const between = (slack) =>
          known
            .filter(([ms]) => ms >= fromMs * (1 - slack) && ms < toMs * (1 + slack))
            .reduce((sum, [, count]) => sum + count, 0) / total;
        assert.ok(share >= between(-1e-3) - 1e-9 && share <= between(1e-3) + 1e-9);
      }
    });
  }

  test('bins add up, have the requested number, and follow each other', () => {
    const uniform = uniformOf(7);
    for (let round = 0; round < 200; round += 1) {
      const size = 1 + Math.floor(uniform() * 20);
      const samples = Array.from({ length: size }, () => [
        10 ** (uniform() * 8 - 4),
        1 + Math.floor(uniform() * 1000),
      ]);
      const most = 2 + Math.floor(uniform() * 80);
      const bins = buildLogBins(decodeDurations(encodeHistogram(samples)), most);
      assert.ok(bins.length >= 1 && bins.length <= most, `${bins.length} of ${most}`);
      const sum = bins.reduce((all, { share }) => all + share, 0);
      assert.ok(Math.abs(sum - 1) < 1e-9, `${sum}`);
      for (const [index, { fromMs }] of bins.slice(1).entries()) {
        assert.ok(Math.abs(fromMs / bins[index].toMs - 1) < 1e-9);
      }
      const least = Math.min(...samples.map(([ms]) => ms));
      const greatest = Math.max(...samples.map(([ms]) => ms));
      // The histogram has three digits, and whole nanoseconds.
      assert.ok(bins[0].fromMs <= least * 1.001 + 1e-6 && bins[0].fromMs > least * 0.998 - 1e-6);
      assert.ok(bins.at(-1).toMs > greatest * 0.998 - 1e-6);
    }
  });

  test('samples of which only a lower bound is known are in no bin', () => {
    const samples = [
      [40, 90],
      [300, 10],
    ];
    const times = estimateLatencies([
      { latency: encodeHistogram(samples), latencyCensored: encodeHistogram(samples.slice(1)) },
    ]);
    const [first, ...others] = buildLogBins(times, 60);
    assert.deepEqual(others, []);
    assert.ok(Math.abs(first.share - 0.9) < 1e-9 && first.fromMs > 39.9);
    assert.deepEqual(buildLogBins(decodeDurations(encodeHistogram([])), 60), []);
  });
});

describe('ticks', () => {
  const uniform = uniformOf(11);
  const scales = Array.from({ length: 300 }, () => {
    const low = 10 ** (uniform() * 10 - 5);
    return createLogScale(low, low * 10 ** (0.3 + uniform() * 5));
  });

  test('ticks of shares lie within their scale, are not too many, and end at 0 and 100 %', () => {
    for (const scale of scales) {
      assert.deepEqual([scale.at(scale.low), scale.at(scale.high)], [0, 100]);
      assert.equal(scale.at(scale.high * 5), 100);
      assert.equal(scale.at(0), 0);
      for (const ticks of [listDecades(scale), listPowersOfTwo(scale)]) {
        assert.ok(ticks.length <= 9, `${ticks}`);
        for (const tick of ticks) assert.ok(tick >= scale.low && tick <= scale.high);
      }
      if (scale.high > 4 * scale.low) assert.ok(listDecades(scale).length > 0);
    }
  });

  test('ticks of ratios contain 1', () => {
    for (const [low, high] of [
      [0.7, 1.4],
      [0.01, 3],
      [0.9, 500],
      [1e-4, 1e4],
    ]) {
      assert.ok(listPowersOfTwo(createLogScale(low, high)).includes(1), `${low} to ${high}`);
    }
  });

  test('ticks of a linear scale begin at 0 and are round', () => {
    assert.deepEqual(listMultiples({ low: 0, high: 0.43 }), [0, 0.2, 0.4]);
    assert.deepEqual(listMultiples({ low: 0, high: 1.08 }), [0, 0.5, 1]);
  });
});
