// The server that does nothing, which predictions are held against.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { exceedsReference } from '#internal/explain/conclusion/prediction/remedy-prediction.js';
import {
  compareWithReference,
  measureReferenceThroughput,
} from '#internal/explain/phases/reference-server.js';
import { buildHealthyMetrics } from '../../fixtures/explain/metrics.js';

describe('the reference server, which does nothing', () => {
  test('the reference server gets the same load, and ends afterwards', async () => {
    const load = { url: 'http://127.0.0.1:9/', connections: 2, connection: 'close', headers: {} };
    const length = { settleMs: 50, measureMs: 1000 };
    const rate = await measureReferenceThroughput(load, 100, length, new AbortController().signal);
    assert.ok(rate > 50, `${rate}`);
  });

  /** What was found of a busy loop, where `high` times as much as there is is promised. */
  const foundOf = (high, change = () => {}) => {
    const metrics = buildHealthyMetrics();
    Object.assign(metrics.loop, { busy: 1 });
    change(metrics);
    const low = metrics.throughput;
    const remedy = { change: 'less', predictedThroughput: { low, high: high * low } };
    const finding = { chosen: { limit: 'logging', remedy } };
    const baselineThroughput = metrics.throughput;
    const seen = {
      experiments: [],
      hotFunctions: [],
      skippedExperiments: [],
      repeatedRemedy: null,
      referenceThroughput: null,
    };
    return { metrics, finding, baselineThroughput, probeCost: { low: 1, high: 1 }, ...seen };
  };

  /** What is known after it was asked, and whether the server under study was ended. */
  const held = async (found, { leftMs = 60_000, signal = new AbortController().signal } = {}) => {
    let closed = 0;
    const subject = {
      canRestart: true,
      options: { url: 'http://127.0.0.1:9/', connections: 2 },
      async close() {
        closed += 1;
      },
    };
    const untilMs = performance.now() + leftMs;
    const { referenceThroughput: bare, interrupted } = await compareWithReference(found, subject, {
      untilMs,
      signal,
      onStep: () => assert.equal(closed, 0),
    });
    return { bare, interrupted, closed };
  };

  test('the reference server is measured after the server under test has ended', async () => {
    const { bare, closed } = await held(foundOf(5));
    assert.ok(bare > 50, `${bare}`);
    assert.equal(closed, 1);
  });

  test('the reference server is not measured without time, or if no large gain is predicted', async () => {
    assert.deepEqual(await held(foundOf(5), { leftMs: 1000 }), {
      bare: null,
      interrupted: undefined,
      closed: 0,
    });
    assert.equal((await held(foundOf(1.8))).closed, 0);
  });

  test('the measurement of the reference server ends with the explanation', async () => {
    const { bare, interrupted } = await held(foundOf(5), { signal: AbortSignal.abort() });
    assert.deepEqual([bare, interrupted], [null, true]);
  });

  test('the reference server is measured only if the predicted gain is large', () => {
    const promised = (high, change) => {
      const found = foundOf(high, change);
      return exceedsReference(found.finding.chosen, found);
    };
    assert.equal(promised(5), true);
    assert.equal(promised(1.8), false);
    assert.equal(
      promised(5, (metrics) => Object.assign(metrics.loop, { busy: 0.5 })),
      false,
    );
    assert.equal(
      promised(5, (metrics) => Object.assign(metrics, { model: 'open' })),
      false,
    );
  });
});
