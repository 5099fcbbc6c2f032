// Both clocks with many streams on a connection, against what the server did, and as on paper, in milliseconds.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { load } from 'millrace';
import { forkedTruthServer } from '../../fixtures/truth/fork.js';
import { countAbove, decodeHistogram } from '../../fixtures/truth/histogram.js';
import { assertStreams } from '../../fixtures/truth/http2/accounting.js';
import { median, quantile } from '../../fixtures/truth/statistics.js';
import { assertAtMost, assertNear, timed } from '../../fixtures/truth/timed.js';

/** What the way to the server and back, and this machine's other work, may add to a median. */
const SLACK = 8;
const PERCENTILES = { p50: 0.5, p75: 0.75, p90: 0.9, p95: 0.95, p99: 0.99, max: 1 };

/**
 * Loads a server in a process of its own; what it saw comes with the result.
 *
 * @param {any} t
 * @param {any} script
 * @param {any} options
 */
async function measure(t, [script, ...args], options) {
  const server = await forkedTruthServer(t, script, args, { http2: true });
  const result = await load({ url: server.url, h2c: true, pid: false, ...options });
  const log = await server.settled(result.connections.opened);
  assertStreams(result, log);
  const answered = log.requests.filter((it) => it.answeredAt !== null);
  return { result, truth: answered.map((it) => it.answeredAt - it.at) };
}

function assertNotBelow(distribution, truth) {
  for (const [name, q] of Object.entries(PERCENTILES)) {
    const least = quantile(truth, q);
    const given = distribution[name];
    assert.ok(given >= least * 0.999, `${name}: ${given} < ${least}`);
  }
}

// They wait, and take little of the machine: four at once.
describe('latency and service time of streams', { concurrency: 4 }, () => {
  timed('a constant time', async (t) => {
    const options = { connections: 2, pipelining: 20, requests: 400 };
    const { result, truth } = await measure(t, ['delay', 50], options);
    const { latencyMs, serviceTimeMs } = result;
    assertNotBelow(serviceTimeMs, truth);
    assertNear(serviceTimeMs.p50, median(truth), SLACK, 'p50 of the service time');
    assertNear(serviceTimeMs.p90, quantile(truth, 0.9), 4 * SLACK, 'p90');
    // Nothing waits in a closed run: both clocks say the same.
    assertNear(latencyMs.p50, serviceTimeMs.p50, 1, 'p50 of the latency');
  });

  timed('one of twenty takes a second, and holds up no other stream', async (t) => {
    const script = ['bimodal', { every: 20, fastMs: 20, slowMs: 1000 }];
    const options = { connections: 1, pipelining: 20, requests: 600 };
    const { result, truth } = await measure(t, script, options);
    const { latencyMs, serviceTimeMs, histograms } = result;
    assertNotBelow(serviceTimeMs, truth);
    const buckets = decodeHistogram(histograms.latency);
    assert.equal(countAbove(buckets, 0), 600, 'each sample once');
    assert.equal(countAbove(buckets, 998), 30, 'every twentieth is slow, no other');
    assertNear(latencyMs.p50, 20, SLACK, 'p50');
    assertNear(latencyMs.p90, 20, 4 * SLACK, 'p90');
    assertNear(latencyMs.p99, 1000, 4 * SLACK, 'p99');
  });

  // Ten want one of two streams of 20 ms each: a request waits for four turns before its own.
  timed('the wait for a stream is latency in a closed run', async (t) => {
    const script = ['delay', 20, { MAX_CONCURRENT_STREAMS: 2 }];
    const options = { connections: 1, pipelining: 10, requests: 100 };
    const { result, truth } = await measure(t, script, options);
    const { latencyMs, serviceTimeMs } = result;
    assertNotBelow(serviceTimeMs, truth);
    assertNear(serviceTimeMs.p50, median(truth), SLACK, 'p50 of the service time');
    assertNear(latencyMs.p50, 5 * median(truth), 5 * SLACK, 'p50 of the latency');
  });

  // One stream of 10 ms for an arrival each 5 ms: the n-th waits for n times the difference.
  timed('the wait for a stream is latency in an open run', async (t) => {
    const script = ['delay', 10, { MAX_CONCURRENT_STREAMS: 1 }];
    const options = { rate: 200, connections: 1, pipelining: 10, requests: 100 };
    const { result, truth } = await measure(t, script, options);
    const { latencyMs, serviceTimeMs } = result;
    assertNotBelow(serviceTimeMs, truth);
    const each = truth.reduce((sum, ms) => sum + ms, 0) / 100;
    const wait = (share) => each + 100 * share * (each - 5);
    for (const [name, q] of Object.entries(PERCENTILES)) {
      // Each turn adds its way there and back.
      const wanted = wait(q);
      assert.ok(latencyMs[name] >= 0.97 * wanted - 5, `${name}: ${latencyMs[name]} < ${wanted}`);
      assertAtMost(latencyMs[name], wanted + 100 * q * 3 + 4 * SLACK, name);
    }
    assertNear(serviceTimeMs.p50, median(truth), SLACK, 'p50 of the service time');
  });

  // 200 requests/s for 3 s: 600 arrivals, of which the 300 between 1 s and 2.5 s meet the freeze. One that comes after a
  // share s of it waits for the rest, 1.5 s * (1 - s). Half of all latencies is spread evenly from 0 to 1.5 s.
  const FREEZE = ['freeze', { atMs: 1000, forMs: 1500, delayMs: 0 }];
  const SAW_TOOTH = { p75: 750, p90: 1200, p95: 1350, p99: 1470, max: 1500 };
  const TOOTH = 60;

  timed('a freeze in an open run: a saw-tooth in the latency', async (t) => {
    const options = { rate: 200, duration: '3s', connections: 1, pipelining: 4 };
    const { result, truth } = await measure(t, FREEZE, options);
    const { latencyMs, serviceTimeMs, histograms, requests } = result;
    assertNotBelow(serviceTimeMs, truth);
    assert.equal(requests.sent + requests.notSent.queuedAtEnd, 600);
    assert.equal(countAbove(decodeHistogram(histograms.serviceTime), 1000), 4, 'one per stream');
    for (const [name, wanted] of Object.entries(SAW_TOOTH)) {
      assertNear(latencyMs[name], wanted, TOOTH, `${name} of the latency`);
    }
    assertAtMost(serviceTimeMs.p99, 100, 'p99 of the service time');
  });

  timed(
    'a freeze in an open run with a stream for each arrival: both clocks show it',
    async (t) => {
      const options = { rate: 200, duration: '3s', connections: 2, pipelining: 200 };
      const { result } = await measure(t, FREEZE, options);
      for (const [name, wanted] of Object.entries(SAW_TOOTH)) {
        assertNear(result.latencyMs[name], wanted, TOOTH, `${name} of the latency`);
        assertNear(result.serviceTimeMs[name], wanted, TOOTH, `${name} of the service time`);
      }
    },
  );

  timed('a time limit ends a stream, and what comes later is not counted', async (t) => {
    const options = { connections: 1, pipelining: 4, duration: '1s', timeout: 200 };
    const { result } = await measure(t, ['delay', 400], options);
    const { requests, latencyMs, connections } = result;
    assert.equal(requests.ok, 0);
    assert.equal(connections.opened, 1);
    assert.equal(requests.timeouts + requests.inFlightAtEnd, requests.sent);
    assert.equal(latencyMs.censored, requests.sent);
    assertNear(requests.timeouts, 16, 4, 'timeouts');
    assertNear(latencyMs.p50, 200, SLACK, 'p50');
  });
});
