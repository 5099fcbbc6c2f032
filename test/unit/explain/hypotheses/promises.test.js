// What a remedy promises: throughput only where that is limited by it, else the slowest response times.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { predictRemediedThroughput } from '#internal/explain/conclusion/prediction/remedy-prediction.js';
import { evaluate } from '../../../fixtures/explain/evaluation.js';
import { buildHealthyMetrics } from '../../../fixtures/explain/metrics.js';

describe('a loop that is blocked now and then, and idle else', () => {
  /** A stall of 200 ms a second; a request takes 60 ms, of which it waits 50 ms for a stall. */
  const remedied = (change = () => {}) =>
    evaluate('event-loop-blocked', (metrics) => {
      const byCause = [{ cause: 'not a request', ms: 600, count: 3 }];
      const stalls = { share: 0.2, count: 3, longestMs: 200, residualMs: 50, byCause };
      Object.assign(metrics.base.inside, { stalls });
      metrics.responseMs = 60;
      metrics.base.load.latencyMs = { ...metrics.base.load.latencyMs, p50: 11, p99: 205 };
      change(metrics);
    }).hypothesis.remedy;

  test('serves no more than it does in the time without stalls', () => {
    const { predictedThroughput, predictedP99Ms } = remedied();
    // 60 / (60 - 50) would be six times as much: 1000 in 80 % of the time.
    assert.ok(Math.abs(predictedThroughput.high - (1.1 * 1000) / 0.8) < 1e-9);
    assert.deepEqual(predictedP99Ms, { low: 11, high: 22 });
  });

  test('stays at the rate of an open load', () => {
    const { low, high } = remedied((metrics) =>
      Object.assign(metrics, { model: 'open' }),
    ).predictedThroughput;
    assert.ok(low > 900 && high < 1100, `${low} to ${high}`);
  });

  test('that is periodic leaves the collection of its garbage to be gained too', () => {
    const gain = (young) =>
      remedied(({ loop, base }) => {
        Object.assign(loop, { busy: 0.95 });
        Object.assign(base.inside.gc, { young });
      }).predictedThroughput.high;
    assert.ok(gain(0.2) > 1.2 * gain(0), `${gain(0)} ${gain(0.2)}`);
  });

  test('that is periodic and takes most of the loop may leave requests that cost far less', () => {
    const gain = (cause) =>
      remedied(({ loop, base }) => {
        Object.assign(loop, { busy: 1 });
        Object.assign(base.inside.stalls, { share: 0.6, byCause: [{ cause, ms: 1800, count: 9 }] });
      }).predictedThroughput.high;
    // The rest of the time, 40 %, is known for requests of the same kind; without a timer it is 0.4 of that at least.
    assert.ok(gain('GET /report') < 3000 && gain('not a request') > 6000);
  });
});

test('a remedy that an experiment applied without effect promises the throughput of now', () => {
  const chosen = {
    limit: 'slow-dependency',
    remedy: { change: '', predictedThroughput: { low: 2900, high: 3100 }, nextLimit: null },
  };
  const predict = (ratio) => {
    const measured = { ratio, low: ratio * 0.95, high: ratio * 1.05, pairs: 3 };
    const tried = { name: 'client-timeout', metric: 'throughput', predicted: {}, otherwise: 1 };
    return predictRemediedThroughput(chosen, {
      metrics: buildHealthyMetrics(),
      experiments: [{ ...tried, measured }],
      hotFunctions: [],
      noise: 0.03,
      probeCost: null,
      repeatedRemedy: null,
      referenceThroughput: null,
      baselineThroughput: 1000,
      finding: { chosen },
    });
  };
  const { low, high } = predict(1.02);
  assert.ok(low < 1000 && 1000 < high && high < 1400, `${low} to ${high}`);
  assert.ok(predict(3).low > 2000);
});

test('files in memory do not tell what a flush for many requests yields', () => {
  const chosen = {
    limit: 'synchronous-writes',
    remedy: { change: '', predictedThroughput: { low: 1500, high: 2000 }, nextLimit: null },
  };
  const predict = (flushes) => {
    const metrics = structuredClone(buildHealthyMetrics());
    Object.assign(metrics.base.inside.files, { flushes });
    const measured = { ratio: 18, low: 15, high: 20, pairs: 3 };
    const tried = {
      name: 'file-writes-in-memory',
      metric: 'throughput',
      predicted: {},
      otherwise: 1,
    };
    return predictRemediedThroughput(chosen, {
      ...{ metrics, experiments: [{ ...tried, measured }], hotFunctions: [], noise: 0.03 },
      ...{ probeCost: null, repeatedRemedy: null, referenceThroughput: null },
      ...{ baselineThroughput: 1000, finding: { chosen } },
    });
  };
  assert.ok(predict(1000).high < 2500);
  assert.ok(predict(0).high > 15_000);
});
