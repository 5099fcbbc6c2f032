// More connections than were asked for: how many are tried, and what is promised of them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addKnee,
  canTryMore,
  chooseNextConnections,
  estimateKnee,
  evaluateRampStep,
} from '../../../dist/explain/experiments/connection-ramp.js';
import { evaluate } from '../../fixtures/explain/evaluation.js';
import { buildHealthyMetrics } from '../../fixtures/explain/metrics.js';

describe('more connections than were asked for', () => {
  const few = (change = () => {}) => {
    const metrics = structuredClone(buildHealthyMetrics());
    // No calls but to this machine.
    metrics.base.inside.outbound = [];
    change(metrics);
    return metrics;
  };
  /** A block with so many connections, 50 ms alone, of a loop that takes `cpuMs` for a request. */
  const block = (metrics, { connections, throughput, cpuMs }) => {
    const seen = structuredClone(metrics.base);
    seen.throughput = throughput;
    seen.load.plan.connections = connections;
    seen.load.meanInFlight = connections;
    seen.outside.processes[0].main.run = (throughput * cpuMs) / 1000;
    return seen;
  };

  test('they are tried as far as the knee seems to be, and not where it has been found', () => {
    const metrics = few();
    const first = chooseNextConnections(metrics, null);
    assert.ok(first > metrics.maxConcurrency && first <= 8 * metrics.maxConcurrency, `${first}`);
    const queues = { connections: 300, throughput: 5000, responseMs: 90, loopLimit: 5500 };
    assert.equal(chooseNextConnections(metrics, { ...queues, isQueueing: true }), null);
    assert.ok(chooseNextConnections(metrics, { ...queues, isQueueing: false }) > 300);
  });

  test('what they give tells the knee better than what a cold loop costs', () => {
    const metrics = few();
    const { maxConcurrency, responseMs } = metrics;
    // As many times the requests in the same time, each for less of the loop.
    const throughput = (8 * maxConcurrency * 1000) / responseMs;
    const cpuMs = metrics.loop.cpuMs / 3;
    const more = block(metrics, { connections: 8 * maxConcurrency, throughput, cpuMs });
    const connectionRamp = evaluateRampStep(metrics, more, null);
    assert.equal(connectionRamp.isQueueing, false);
    const { hypothesis } = evaluate('too-few-connections', () => ({ ...metrics, connectionRamp }));
    const { low, high } = hypothesis.remedy.predictedThroughput;
    assert.ok(low < 1000 / cpuMs && 1000 / cpuMs < high, `${low} ${high}`);
    // Ten times as many wait for each other.
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

  test('what is promised of the knee is what was measured there, not where requests queue', () => {
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
    // The code was compiled meanwhile: more than many connections gave.
    const warm = promised(at(4000));
    assert.ok(warm.predictedThroughput.low < 4000 && warm.predictedThroughput.high > 4000);
    assert.equal(warm.settings.connections, Math.round((4000 * metrics.unloadedLatencyMs) / 1000));
    // Not measured: below what many gave.
    assert.deepEqual(promised(full).predictedThroughput, { low: 2700, high: 3600 });
  });

  test('what is promised of fewer than were tried lies between what each of those gave and what all did', () => {
    const metrics = few();
    const { maxConcurrency, unloadedLatencyMs } = metrics;
    const connections = 10 * maxConcurrency;
    const throughput = (900 * connections) / unloadedLatencyMs;
    // The loop can do no more.
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

  test('what is promised of a few more than were tried is no more for each of them', () => {
    const metrics = few();
    const { maxConcurrency, unloadedLatencyMs } = metrics;
    const connections = 10 * maxConcurrency;
    const throughput = (900 * connections) / unloadedLatencyMs;
    // A third more are worth having, by the loop.
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

  test('where no more were tried, each of more is promised no more than each of those there are', () => {
    const metrics = few();
    Object.assign(metrics, { responseMs: 1.2 * metrics.unloadedLatencyMs });
    const { remedy } = evaluate('too-few-connections', () => metrics).hypothesis;
    const { connections } = remedy.settings;
    const each = metrics.throughput / metrics.maxConcurrency;
    assert.ok(connections > 1.1 * metrics.maxConcurrency);
    assert.ok(remedy.predictedThroughput.high <= 1.05 * each * connections + 1e-9);
    assert.ok(remedy.predictedThroughput.low >= 0.7 * remedy.predictedThroughput.high);
  });

  test('the knee is tried where it is more than there are, and clients that think are part of it', () => {
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

  test('of pipelined requests those in flight count', () => {
    const metrics = few();
    const pipelined = block(metrics, { connections: 100, throughput: 1000, cpuMs: 0.2 });
    pipelined.load.plan.pipelining = 4;
    assert.equal(evaluateRampStep(metrics, pipelined, null).connections, 400);
  });

  test('what is promised goes no further than twice what was tried', () => {
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

  test('they are not tried on services that ask others elsewhere, or fail', () => {
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
    // HTTP/2, native drivers: the probe sees no calls, the system a socket.
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
