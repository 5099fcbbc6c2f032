// The ramp of connections: how many are tried, and what is predicted from them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addKnee,
  canTryMore,
  chooseNextConnections,
  estimateKnee,
  evaluateRampStep,
} from '#internal/explain/experiments/connection-ramp.js';
import { rampConnections } from '#internal/explain/phases/connection-ramp.js';
import { TimeBudget } from '#internal/explain/phases/time-budget.js';
import { evaluate } from '../../fixtures/explain/evaluation.js';
import { buildHealthyMetrics } from '../../fixtures/explain/metrics.js';

describe('a ramp of connections', () => {
  const few = (change = () => {}) => {
    const metrics = structuredClone(buildHealthyMetrics());
    // No calls but to this machine.
    metrics.base.inside.outbound = [];
    change(metrics);
    return metrics;
  };
  /** Builds a block with a number of connections, 50 ms alone, of a loop that takes `cpuMs` per request. */
  const block = (metrics, { connections, throughput, cpuMs }) => {
    const seen = structuredClone(metrics.base);
    seen.throughput = throughput;
    seen.load.plan.connections = connections;
    seen.load.meanInFlight = connections;
    seen.outside.processes[0].main.run = (throughput * cpuMs) / 1000;
    return seen;
  };

  test('goes beyond the estimated knee, and ends when requests queue', () => {
    const metrics = few();
    const first = chooseNextConnections(metrics, null);
    assert.ok(first > metrics.maxConcurrency && first <= 8 * metrics.maxConcurrency, `${first}`);
    const queues = { connections: 300, throughput: 5000, responseMs: 90, loopLimit: 5500 };
    assert.equal(chooseNextConnections(metrics, { ...queues, isQueueing: true }), null);
    assert.ok(chooseNextConnections(metrics, { ...queues, isQueueing: false }) > 300);
  });

  /** Runs the ramp on a server whose loop takes `cpuMs` per request; returns what was tried, and what was found. */
  const ramp = async (metrics, { leftMs = 60_000, cpuMs = 1, failing = false } = {}) => {
    const subject = {
      async runBlock(_, { load: { connections } }) {
        const throughput = Math.min(1000 / cpuMs, (connections * 1000) / metrics.responseMs);
        const seen = block(metrics, { connections, throughput, cpuMs });
        if (failing) seen.load.requests.transportErrors = seen.load.requests.ok;
        return seen;
      },
    };
    const length = { settleMs: 500, measureMs: 500 };
    const [steps, ramps, skipped] = [[], [], []];
    await rampConnections(subject, metrics, {
      budget: new TimeBudget(performance.now() + leftMs, length),
      length,
      onStep: (step) => steps.push(step),
      onBlock: (found, { load }) => ramps.push({ ...found, tried: load.plan.connections }),
      onSkipped: (reason) => skipped.push(reason),
    });
    return { steps, ramps, skipped };
  };

  test('measures the recommended number of connections once requests queue', async () => {
    const metrics = few();
    const { steps, ramps, skipped } = await ramp(metrics, { cpuMs: 0.25 });
    assert.deepEqual(skipped, []);
    assert.equal(ramps.length, steps.length);
    const [last, before] = ramps.toReversed();
    assert.ok(before.isQueueing && last.isQueueing, JSON.stringify(ramps));
    assert.ok(last.tried < before.tried, `${last.tried} after ${before.tried}`);
    assert.equal(last.connections, before.connections);
  });

  test('ends without time for a block, and where requests fail', async () => {
    assert.deepEqual((await ramp(few(), { leftMs: 500 })).steps, []);
    const { ramps, skipped } = await ramp(few(), { failing: true });
    assert.deepEqual(ramps, []);
    assert.match(skipped.join(), /^\d+ connections: 50 % of the requests failed$/);
  });

  test('measures the knee better than the cost per request of a cold loop', () => {
    const metrics = few();
    const { maxConcurrency, responseMs } = metrics;
    // Eight times the requests in the same time, each with less loop time.
    const throughput = (8 * maxConcurrency * 1000) / responseMs;
    const cpuMs = metrics.loop.cpuMs / 3;
    const more = block(metrics, { connections: 8 * maxConcurrency, throughput, cpuMs });
    const connectionRamp = evaluateRampStep(metrics, more, null);
    assert.equal(connectionRamp.isQueueing, false);
    const { hypothesis } = evaluate('too-few-connections', () => ({ ...metrics, connectionRamp }));
    const { low, high } = hypothesis.remedy.predictedThroughput;
    assert.ok(low < 1000 / cpuMs && 1000 / cpuMs < high, `${low} ${high}`);
    // Ten times as many requests queue.
    const many = block(metrics, {
      connections: 80 * maxConcurrency,
      throughput: 1.2 * throughput,
      cpuMs,
    });
    const full = evaluateRampStep(metrics, many, connectionRamp);
    assert.equal(full.isQueueing, true);
    const told = evaluate('too-few-connections', () => ({
      ...metrics,
      connectionRamp: full,
    })).hypothesis;
    assert.equal(
      told.remedy.settings.connections,
      Math.round((1.2 * throughput * metrics.unloadedLatencyMs) / 1000),
    );
  });

  test('predicts the throughput measured at the knee, not that where requests queue', () => {
    const metrics = few();
    const many = block(metrics, { connections: 1000, throughput: 3600, cpuMs: 0.2 });
    const full = evaluateRampStep(metrics, many, null);
    const connections = estimateKnee(metrics, full);
    assert.equal(connections, Math.round((3600 * metrics.unloadedLatencyMs) / 1000));
    const promised = (connectionRamp) =>
      evaluate('too-few-connections', () => ({ ...metrics, connectionRamp })).hypothesis.remedy;
    const at = (throughput) =>
      addKnee(
        full,
        evaluateRampStep(metrics, block(metrics, { connections, throughput, cpuMs: 0.2 }), full),
      );
    const { predictedThroughput, settings } = promised(at(3000));
    assert.ok(Math.abs((predictedThroughput.low + predictedThroughput.high) / 2 - 3000) < 1e-6);
    assert.equal(settings.connections, connections);
    // Code was compiled meanwhile: throughput exceeds that of many connections.
    const warm = promised(at(4000));
    assert.ok(warm.predictedThroughput.low < 4000 && warm.predictedThroughput.high > 4000);
    assert.equal(warm.settings.connections, Math.round((4000 * metrics.unloadedLatencyMs) / 1000));
    // Not measured at the knee: below the throughput of many connections.
    assert.deepEqual(promised(full).predictedThroughput, { low: 2700, high: 3600 });
  });

  test('predicts fewer connections between the throughput per tried connection and that of all', () => {
    const metrics = few();
    const { maxConcurrency, unloadedLatencyMs } = metrics;
    const connections = 10 * maxConcurrency;
    const throughput = (900 * connections) / unloadedLatencyMs;
    // The loop is saturated.
    const more = block(metrics, { connections, throughput, cpuMs: 1000 / throughput });
    const connectionRamp = evaluateRampStep(metrics, more, null);
    const { remedy } = evaluate('too-few-connections', () => ({
      ...metrics,
      connectionRamp,
    })).hypothesis;
    const { low, high } = remedy.predictedThroughput;
    assert.ok(Math.abs(high / (1.05 * throughput) - 1) < 1e-9, `${high}`);
    const least = (0.95 * throughput * remedy.settings.connections) / connections;
    assert.ok(Math.abs(low / least - 1) < 1e-9, `${low} ${least}`);
  });

  test('predicts a few more connections to yield no more each than those that were tried', () => {
    const metrics = few();
    const { maxConcurrency, unloadedLatencyMs } = metrics;
    const connections = 10 * maxConcurrency;
    const throughput = (900 * connections) / unloadedLatencyMs;
    // By the loop, a third more connections are useful.
    const more = block(metrics, { connections, throughput, cpuMs: 750 / throughput });
    const connectionRamp = evaluateRampStep(metrics, more, null);
    assert.equal(connectionRamp.isQueueing, false);
    const { remedy } = evaluate('too-few-connections', () => ({
      ...metrics,
      connectionRamp,
    })).hypothesis;
    const { low, high } = remedy.predictedThroughput;
    const each = throughput / connections;
    assert.ok(remedy.settings.connections > connections);
    assert.ok(Math.abs(high / (1.05 * each * remedy.settings.connections) - 1) < 1e-9, `${high}`);
    assert.equal(low, throughput);
  });

  test('predicts more connections to yield no more each than the present ones if none were tried', () => {
    const metrics = few();
    Object.assign(metrics, { responseMs: 1.2 * metrics.unloadedLatencyMs });
    const { remedy } = evaluate('too-few-connections', () => metrics).hypothesis;
    const { connections } = remedy.settings;
    const each = metrics.throughput / metrics.maxConcurrency;
    assert.ok(connections > 1.1 * metrics.maxConcurrency);
    assert.ok(remedy.predictedThroughput.high <= 1.05 * each * connections + 1e-9);
    assert.ok(remedy.predictedThroughput.low >= 0.7 * remedy.predictedThroughput.high);
  });

  test('tries the knee if it exceeds the present connections, including the think time of clients', () => {
    const metrics = few();
    const { maxConcurrency, unloadedLatencyMs } = metrics;
    const full = (throughput) => {
      const many = block(metrics, { connections: 1000, throughput, cpuMs: 0.2 });
      return evaluateRampStep(metrics, many, null);
    };
    assert.equal(estimateKnee(metrics, full((1050 * maxConcurrency) / unloadedLatencyMs)), null);
    const most = (2000 * maxConcurrency) / unloadedLatencyMs;
    assert.equal(estimateKnee(metrics, full(most)), 2 * maxConcurrency);
    metrics.base.load.plan.thinkTimeMs = unloadedLatencyMs;
    assert.equal(estimateKnee(metrics, full(most)), 4 * maxConcurrency);
  });

  test('counts the requests in flight of pipelined connections', () => {
    const metrics = few();
    const pipelined = block(metrics, { connections: 100, throughput: 1000, cpuMs: 0.2 });
    pipelined.load.plan.pipelining = 4;
    assert.equal(evaluateRampStep(metrics, pipelined, null).connections, 400);
  });

  test('predicts at most twice the connections that were tried', () => {
    const metrics = few();
    const { maxConcurrency, responseMs } = metrics;
    const throughput = (2 * maxConcurrency * 1000) / responseMs;
    const cpuMs = metrics.loop.cpuMs / 3;
    const more = block(metrics, { connections: 2 * maxConcurrency, throughput, cpuMs });
    const connectionRamp = evaluateRampStep(metrics, more, null);
    const { remedy } = evaluate('too-few-connections', () => ({
      ...metrics,
      connectionRamp,
    })).hypothesis;
    assert.equal(remedy.settings.connections, 4 * maxConcurrency);
    assert.ok(remedy.predictedThroughput.high < 2.2 * throughput);
    assert.equal(remedy.nextLimit, 'too-few-connections');
  });

  test('is not tried on services that call other machines, or fail', () => {
    assert.equal(canTryMore(few()), true);
    const calls = (origin) => (metrics) => {
      metrics.base.inside.outbound = [{ ...buildHealthyMetrics().base.inside.outbound[0], origin }];
    };
    assert.equal(canTryMore(few(calls('http://127.0.0.1:3001'))), true);
    assert.equal(canTryMore(few(calls('https://api.example.com:443'))), false);
    assert.equal(canTryMore(few(calls('tcp://10.0.0.5:5432'))), false);
    for (const origin of ['http://localhost', 'tcp://[::1]:5432', 'tcp://[::ffff:127.0.0.1]:1']) {
      assert.equal(canTryMore(few(calls(origin))), true, origin);
    }
    for (const origin of [
      'https://127.example.com:443',
      'tcp://[::1234]:5',
      'http://127.0.0.1.x.com',
    ]) {
      assert.equal(canTryMore(few(calls(origin))), false, origin);
    }
    // With HTTP/2 or native drivers the probe sees no calls, but the system sees a socket.
    const socket = few((metrics) => {
      metrics.sockets.outbound = [{ peer: '10.0.0.5:443' }];
    });
    assert.equal(canTryMore(socket), false);
    const unseen = (outbound) => (metrics) => {
      metrics.base.inside = null;
      metrics.sockets = outbound && { ...metrics.sockets, outbound };
    };
    assert.equal(canTryMore(few(unseen([]))), true);
    assert.equal(canTryMore(few(unseen([{ peer: '127.0.0.1:5432' }]))), true);
    assert.equal(canTryMore(few(unseen([{ peer: '10.0.0.5:5432' }]))), false);
    assert.equal(canTryMore(few(unseen(null))), false);
    const failing = few((metrics) => {
      metrics.errorShare = 0.05;
    });
    assert.equal(canTryMore(failing), false);
    const metrics = few();
    const refused = block(metrics, { connections: 80, throughput: 100, cpuMs: 1 });
    refused.load.requests.transportErrors = refused.load.requests.ok;
    assert.equal(evaluateRampStep(metrics, refused, null), null);
  });
});
