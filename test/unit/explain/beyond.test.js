// More connections than were asked for: how many are tried, and what is promised of them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  kneeOf,
  mayTryMore,
  nextConnections,
  rampStep,
  withKnee,
} from '../../../dist/explain/experiments/connection-ramp.js';
import { factsOfHealthy } from '../../fixtures/explain/facts.js';
import { judged } from '../../fixtures/explain/judged.js';

describe('more connections than were asked for', () => {
  const few = (change = () => {}) => {
    const facts = structuredClone(factsOfHealthy());
    // No calls but to this machine.
    facts.base.inside.outbound = [];
    change(facts);
    return facts;
  };
  /** A block with so many connections, 50 ms alone, of a loop that takes `cpuMs` for a request. */
  const block = (facts, { connections, throughput, cpuMs }) => {
    const seen = structuredClone(facts.base);
    seen.throughput = throughput;
    seen.load.plan.connections = connections;
    seen.load.meanInFlight = connections;
    seen.outside.processes[0].main.run = (throughput * cpuMs) / 1000;
    return seen;
  };

  test('they are tried as far as the knee seems to be, and not where it has been found', () => {
    const facts = few();
    const first = nextConnections(facts, null);
    assert.ok(first > facts.maxConcurrency && first <= 8 * facts.maxConcurrency, `${first}`);
    const queues = { connections: 300, throughput: 5000, responseMs: 90, loopLimit: 5500 };
    assert.equal(nextConnections(facts, { ...queues, queues: true }), null);
    assert.ok(nextConnections(facts, { ...queues, queues: false }) > 300);
  });

  test('what they give tells the knee better than what a cold loop costs', () => {
    const facts = few();
    const { maxConcurrency, responseMs } = facts;
    // As many times the requests in the same time, each for less of the loop.
    const throughput = (8 * maxConcurrency * 1000) / responseMs;
    const cpuMs = facts.loop.cpuMs / 3;
    const more = block(facts, { connections: 8 * maxConcurrency, throughput, cpuMs });
    const connectionRamp = rampStep(facts, more, null);
    assert.equal(connectionRamp.queues, false);
    const { suspect } = judged('too-few-connections', () => ({ ...facts, connectionRamp }));
    const { low, high } = suspect.remedy.predictedThroughput;
    assert.ok(low < 1000 / cpuMs && 1000 / cpuMs < high, `${low} ${high}`);
    // Ten times as many wait for each other.
    const many = block(facts, {
      connections: 80 * maxConcurrency,
      throughput: 1.2 * throughput,
      cpuMs,
    });
    const full = rampStep(facts, many, connectionRamp);
    assert.equal(full.queues, true);
    const told = judged('too-few-connections', () => ({ ...facts, connectionRamp: full })).suspect;
    assert.equal(
      told.remedy.settings.connections,
      Math.round((1.2 * throughput * facts.unloadedLatencyMs) / 1000),
    );
  });

  test('what is promised of the knee is what was measured there, not where requests queue', () => {
    const facts = few();
    const many = block(facts, { connections: 1000, throughput: 3600, cpuMs: 0.2 });
    const full = rampStep(facts, many, null);
    const connections = kneeOf(facts, full);
    assert.equal(connections, Math.round((3600 * facts.unloadedLatencyMs) / 1000));
    const promised = (connectionRamp) =>
      judged('too-few-connections', () => ({ ...facts, connectionRamp })).suspect.remedy;
    const at = (throughput) =>
      withKnee(full, rampStep(facts, block(facts, { connections, throughput, cpuMs: 0.2 }), full));
    const { predictedThroughput, settings } = promised(at(3000));
    assert.ok(Math.abs((predictedThroughput.low + predictedThroughput.high) / 2 - 3000) < 1e-6);
    assert.equal(settings.connections, connections);
    // The code was compiled meanwhile: more than many connections gave.
    const warm = promised(at(4000));
    assert.ok(warm.predictedThroughput.low < 4000 && warm.predictedThroughput.high > 4000);
    assert.equal(warm.settings.connections, Math.round((4000 * facts.unloadedLatencyMs) / 1000));
    // Not measured: below what many gave.
    assert.deepEqual(promised(full).predictedThroughput, { low: 2700, high: 3600 });
  });

  test('what is promised of fewer than were tried lies between what each of those gave and what all did', () => {
    const facts = few();
    const { maxConcurrency, unloadedLatencyMs } = facts;
    const connections = 10 * maxConcurrency;
    const throughput = (900 * connections) / unloadedLatencyMs;
    // The loop can do no more.
    const more = block(facts, { connections, throughput, cpuMs: 1000 / throughput });
    const connectionRamp = rampStep(facts, more, null);
    const { remedy } = judged('too-few-connections', () => ({ ...facts, connectionRamp })).suspect;
    const { low, high } = remedy.predictedThroughput;
    assert.ok(Math.abs(high / (1.05 * throughput) - 1) < 1e-9, `${high}`);
    const least = (0.95 * throughput * remedy.settings.connections) / connections;
    assert.ok(Math.abs(low / least - 1) < 1e-9, `${low} ${least}`);
  });

  test('what is promised of a few more than were tried is no more for each of them', () => {
    const facts = few();
    const { maxConcurrency, unloadedLatencyMs } = facts;
    const connections = 10 * maxConcurrency;
    const throughput = (900 * connections) / unloadedLatencyMs;
    // A third more are worth having, by the loop.
    const more = block(facts, { connections, throughput, cpuMs: 750 / throughput });
    const connectionRamp = rampStep(facts, more, null);
    assert.equal(connectionRamp.queues, false);
    const { remedy } = judged('too-few-connections', () => ({ ...facts, connectionRamp })).suspect;
    const { low, high } = remedy.predictedThroughput;
    const each = throughput / connections;
    assert.ok(remedy.settings.connections > connections);
    assert.ok(Math.abs(high / (1.05 * each * remedy.settings.connections) - 1) < 1e-9, `${high}`);
    assert.equal(low, throughput);
  });

  test('where no more were tried, each of more is promised no more than each of those there are', () => {
    const facts = few();
    Object.assign(facts, { responseMs: 1.2 * facts.unloadedLatencyMs });
    const { remedy } = judged('too-few-connections', () => facts).suspect;
    const { connections } = remedy.settings;
    const each = facts.throughput / facts.maxConcurrency;
    assert.ok(connections > 1.1 * facts.maxConcurrency);
    assert.ok(remedy.predictedThroughput.high <= 1.05 * each * connections + 1e-9);
    assert.ok(remedy.predictedThroughput.low >= 0.7 * remedy.predictedThroughput.high);
  });

  test('the knee is tried where it is more than there are, and clients that think are part of it', () => {
    const facts = few();
    const { maxConcurrency, unloadedLatencyMs } = facts;
    const full = (throughput) => {
      const many = block(facts, { connections: 1000, throughput, cpuMs: 0.2 });
      return rampStep(facts, many, null);
    };
    assert.equal(kneeOf(facts, full((1050 * maxConcurrency) / unloadedLatencyMs)), null);
    const most = (2000 * maxConcurrency) / unloadedLatencyMs;
    assert.equal(kneeOf(facts, full(most)), 2 * maxConcurrency);
    facts.base.load.plan.thinkTimeMs = unloadedLatencyMs;
    assert.equal(kneeOf(facts, full(most)), 4 * maxConcurrency);
  });

  test('of pipelined requests those in flight count', () => {
    const facts = few();
    const pipelined = block(facts, { connections: 100, throughput: 1000, cpuMs: 0.2 });
    pipelined.load.plan.pipelining = 4;
    assert.equal(rampStep(facts, pipelined, null).connections, 400);
  });

  test('what is promised goes no further than twice what was tried', () => {
    const facts = few();
    const { maxConcurrency, responseMs } = facts;
    const throughput = (2 * maxConcurrency * 1000) / responseMs;
    const cpuMs = facts.loop.cpuMs / 3;
    const more = block(facts, { connections: 2 * maxConcurrency, throughput, cpuMs });
    const connectionRamp = rampStep(facts, more, null);
    const { remedy } = judged('too-few-connections', () => ({ ...facts, connectionRamp })).suspect;
    assert.equal(remedy.settings.connections, 4 * maxConcurrency);
    assert.ok(remedy.predictedThroughput.high < 2.2 * throughput);
    assert.equal(remedy.nextLimit, 'too-few-connections');
  });

  test('they are not tried on services that ask others elsewhere, or fail', () => {
    assert.equal(mayTryMore(few()), true);
    const calls = (origin) => (facts) => {
      facts.base.inside.outbound = [{ ...factsOfHealthy().base.inside.outbound[0], origin }];
    };
    assert.equal(mayTryMore(few(calls('http://127.0.0.1:3001'))), true);
    assert.equal(mayTryMore(few(calls('https://api.example.com:443'))), false);
    assert.equal(mayTryMore(few(calls('tcp://10.0.0.5:5432'))), false);
    for (const origin of ['http://localhost', 'tcp://[::1]:5432', 'tcp://[::ffff:127.0.0.1]:1']) {
      assert.equal(mayTryMore(few(calls(origin))), true, origin);
    }
    for (const origin of [
      'https://127.example.com:443',
      'tcp://[::1234]:5',
      'http://127.0.0.1.x.com',
    ]) {
      assert.equal(mayTryMore(few(calls(origin))), false, origin);
    }
    // HTTP/2, native drivers: the probe sees no calls, the system a socket.
    const socket = few((facts) => {
      facts.sockets.outbound = [{ peer: '10.0.0.5:443' }];
    });
    assert.equal(mayTryMore(socket), false);
    const unseen = (outbound) => (facts) => {
      facts.base.inside = null;
      facts.sockets = outbound && { ...facts.sockets, outbound };
    };
    assert.equal(mayTryMore(few(unseen([]))), true);
    assert.equal(mayTryMore(few(unseen([{ peer: '127.0.0.1:5432' }]))), true);
    assert.equal(mayTryMore(few(unseen([{ peer: '10.0.0.5:5432' }]))), false);
    assert.equal(mayTryMore(few(unseen(null))), false);
    const failing = few((facts) => {
      facts.errorShare = 0.05;
    });
    assert.equal(mayTryMore(failing), false);
    const facts = few();
    const refused = block(facts, { connections: 80, throughput: 100, cpuMs: 1 });
    refused.load.requests.transportErrors = refused.load.requests.ok;
    assert.equal(rampStep(facts, refused, null), null);
  });
});
