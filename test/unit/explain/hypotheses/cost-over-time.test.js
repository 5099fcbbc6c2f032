// A cost per request that grows with the requests before.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createDegradesOverTimeDetector } from '#internal/explain/hypotheses/event-loop/cost-over-time.js';
import { buildHealthyMetrics } from '../../../fixtures/explain/metrics.js';

describe('degrades-over-time', () => {
  /** Costs that double in the end, on a machine whose speed varies so that a third of the pairs fall. */
  const VARYING = [0.24, 0.2, 0.34, 0.21, 0.4, 0.26, 0.55, 0.3, 0.48];
  const evaluateCosts = (costs, secondProcess, afterRestart = null) => {
    const metrics = buildHealthyMetrics();
    Object.assign(metrics.loop, { busy: 1, run: 0.99 });
    const history = costs.map((cpuMs, index) => ({ requests: 1000 * (index + 1), cpuMs }));
    const measured =
      typeof secondProcess === 'number'
        ? { ratio: secondProcess, low: secondProcess }
        : secondProcess;
    return createDegradesOverTimeDetector(history, measured, afterRestart)(metrics);
  };

  test('is a hypothesis if costs grow with every block', () => {
    const hypothesis = evaluateCosts([0.1, 0.12, 0.15, 0.16, 0.2, 0.22, 0.25, 0.26], null);
    assert.equal(hypothesis.limit, 'degrades-over-time');
    assert.ok(hypothesis.weight > 0.6);
  });

  test('is a hypothesis for varying costs if a second process gains more than two processes can', () => {
    assert.ok('why' in evaluateCosts(VARYING, null));
    assert.ok('why' in evaluateCosts(VARYING, 1.9));
    const hypothesis = evaluateCosts(VARYING, 6.5);
    assert.ok(hypothesis.predictions['second-process'].high > 6.5);
    assert.ok(hypothesis.predictions.restart.high < 1);
  });

  test('is a hypothesis even if the middle costs do not grow', () => {
    const costs = [0.185, 0.5, 0.31, 0.42, 0.24, 0.38, 0.2, 0.26, 0.399];
    assert.ok('why' in evaluateCosts(costs, 1.9));
    const hypothesis = evaluateCosts(costs, 2.95);
    assert.ok(hypothesis.predictions.restart.high <= 0.85);
    assert.ok(hypothesis.remedy.predictedThroughput.low > 0);
    // The gain may vary as widely: five times as much on average, a quarter more at least.
    assert.ok('predictions' in evaluateCosts(costs, { ratio: 5.36, low: 1.27 }));
    assert.ok('why' in evaluateCosts(costs, { ratio: 1.9, low: 1.27 }));
  });

  test('is a hypothesis for an old server whose costs grow little, if a second process gains much', () => {
    const costs = [0.4, 0.44, 0.41, 0.45, 0.46, 0.44, 0.5, 0.47, 0.51];
    assert.ok('why' in evaluateCosts(costs, null));
    const { weight, predictions } = evaluateCosts(costs, 6.5);
    assert.ok(weight > 0.9);
    // It answered 5.5 times as many requests as the old one, and alone has the old one's core time too.
    assert.ok(predictions.restart.low < 1 / 5.5 && predictions.restart.high > 1 / 5.5);
    assert.ok(predictions.restart.high < 0.3);
    assert.ok(predictions['second-process'].high > 6.5);
  });

  test('counts as a cause once a restart helped, though the cost of an old server grows little', () => {
    const costs = [0.5, 0.52, 0.55, 0.58, 0.6, 0.62, 0.65, 0.68, 0.7];
    assert.ok(evaluateCosts(costs, null).weight < 0.6);
    assert.ok(evaluateCosts(costs, null, { requests: 500, cpuMs: 0.12 }).weight >= 0.6);
    assert.ok(evaluateCosts(costs, null, { requests: 500, cpuMs: 0.66 }).weight < 0.6);
  });

  test('requires an effect of the restart if only a second process is evidence', () => {
    const costs = [0.5, 0.5, 0.52, 0.53, 0.52, 0.54, 0.55, 0.55, 0.56];
    const { predictions } = evaluateCosts(costs, 2.35);
    assert.ok(predictions.restart.high < 0.9, `${predictions.restart.high}`);
  });

  test('predicts the second process without its result, as the age of the first is unknown', () => {
    const costs = [0.1, 0.12, 0.15, 0.16, 0.2, 0.22, 0.25, 0.26];
    const predict = (gain) => evaluateCosts(costs, gain).predictions['second-process'];
    assert.deepEqual(predict(null), predict(6.5));
    assert.ok(predict(null).low > 0.9 && predict(null).high > 6.5);
    // The second process may get no core of its own.
    const metrics = buildHealthyMetrics();
    Object.assign(metrics.loop, { busy: 1, run: 0.99 });
    metrics.machine.cpu = { ...metrics.machine.cpu, wanted: 1, steal: 0.2 };
    const history = costs.map((cpuMs, index) => ({ requests: 1000 * (index + 1), cpuMs }));
    assert.ok(
      createDegradesOverTimeDetector(history, null, null)(metrics).predictions['second-process']
        .low < 0.9,
    );
  });

  test('predicts more than the restart yielded, as the cost has grown a little since', () => {
    const costs = [0.2, 0.22, 0.24, 0.26, 0.28, 0.3, 0.32, 0.34];
    // 20 µs more per 1000 requests, from 180 µs: after 500 requests it is 190 µs.
    const { remedy } = evaluateCosts(costs, null, { requests: 500, cpuMs: 0.19 });
    const { throughput } = buildHealthyMetrics();
    const { low, high } = remedy.predictedThroughput;
    assert.ok(Math.abs(low / throughput - 0.2 / 0.19) < 1e-9, `${low / throughput}`);
    // Code is compiled by then, and what the loop went through no longer fills its caches: up to four times as much.
    assert.ok(Math.abs(high / throughput - (4 * 0.2) / 0.18) < 1e-9, `${high / throughput}`);
    // An extrapolation below 0 is bounded.
    const steep = evaluateCosts(costs, null, { requests: 500, cpuMs: 0.001 }).remedy
      .predictedThroughput;
    assert.ok(Math.abs(steep.high / throughput - (4 * 0.2) / 0.00002) < 1, `${steep.high}`);
  });

  test('is ruled out if only a second process is evidence and costs do not grow', () => {
    assert.ok('why' in evaluateCosts([0.2, 0.21, 0.2, 0.22, 0.2, 0.21], 6.5));
  });
});
