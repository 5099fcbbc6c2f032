// Both clocks against what the server did, in milliseconds. A service time holds the server's own time from the arrival
// of a request to its answer: no sample is shorter, so no percentile is, beyond the histogram's 3 digits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'millrace';
import { assertAddsUp, assertSeenByServer } from './accounting.js';
import { forkedTruthServer } from './fork.js';
import { countAbove, decodeHistogram } from './histogram.js';
import { gaps, median, quantile } from './statistics.js';

/** What the way to the server and back, and this machine's other work, may add to a median. */
const SLACK = 5;
const PERCENTILES = { p50: 0.5, p75: 0.75, p90: 0.9, p95: 0.95, p99: 0.99, max: 1 };

/** Loads a server in a process of its own; what it saw comes with the result. */
async function measure(t, [script, ...args], options) {
  const server = await forkedTruthServer(t, script, args);
  const result = await load({ url: server.url, pid: false, ...options });
  const log = await server.settled(result.connections.opened);
  assertSeenByServer(result, log);
  return { result, log };
}

/** What the server itself took for the requests that it answered. */
function serverTimes({ requests }) {
  return requests.filter((it) => it.answeredAt !== null).map((it) => it.answeredAt - it.at);
}

function assertNotBelow(distribution, truth) {
  for (const [name, q] of Object.entries(PERCENTILES)) {
    const least = quantile(truth, q);
    // The server's own clock is read a little after the bytes have left.
    assert.ok(distribution[name] >= least * 0.999, `${name}: ${distribution[name]} < ${least}`);
  }
}

function assertNear(value, wanted, tolerance, what) {
  assert.ok(
    Math.abs(value - wanted) <= tolerance,
    `${what}: ${value}, not ${wanted} +- ${tolerance}`,
  );
}

test('a constant time', async (t) => {
  const { result, log } = await measure(t, ['delay', 50], { connections: 10, requests: 200 });
  const truth = serverTimes(log);
  assertNotBelow(result.serviceTimeMs, truth);
  assertNear(result.serviceTimeMs.p50, median(truth), SLACK, 'p50 of the service time');
  assertNear(result.serviceTimeMs.p90, quantile(truth, 0.9), 4 * SLACK, 'p90');
  // Nothing waits in a closed run: both clocks say the same.
  assertNear(result.latencyMs.p50, result.serviceTimeMs.p50, 1, 'p50 of the latency');
});

test('one of twenty takes a second', async (t) => {
  const script = ['bimodal', { every: 20, fastMs: 20, slowMs: 1000 }];
  const { result, log } = await measure(t, script, { connections: 20, requests: 600 });
  const { latencyMs, serviceTimeMs, histograms } = result;
  assertNotBelow(serviceTimeMs, serverTimes(log));
  assertNear(latencyMs.p50, 20, SLACK, 'p50');
  assertNear(latencyMs.p90, 20, 4 * SLACK, 'p90');
  assertNear(latencyMs.p99, 1000, 4 * SLACK, 'p99');
  const buckets = decodeHistogram(histograms.latency);
  assert.equal(countAbove(buckets, 0), 600, 'each sample once');
  assert.equal(countAbove(buckets, 990), 30, 'every twentieth is slow, no other');
});

// 200 requests/s for 3 s: 600 arrivals, of which the 300 between 1 s and 2.5 s meet the freeze. One that comes after a
// share s of it waits for the rest, 1.5 s * (1 - s). Half of all latencies is spread evenly from 0 to 1.5 s.
const FREEZE = ['freeze', { atMs: 1000, forMs: 1500, delayMs: 0 }];
const SAW_TOOTH = { p75: 750, p90: 1200, p95: 1350, p99: 1470 };

test('a freeze in an open run: latency shows the saw-tooth, service time only what was in flight', async (t) => {
  const options = { rate: 200, duration: '3s', connections: 4 };
  const { result, log } = await measure(t, FREEZE, options);
  const { latencyMs, serviceTimeMs, histograms } = result;
  assert.equal(result.requests.ok, 600);
  for (const [name, wanted] of Object.entries(SAW_TOOTH)) {
    assertNear(latencyMs[name], wanted, 60, `${name} of the latency`);
  }
  assertNear(latencyMs.max, 1500, 60, 'the longest');
  assert.ok(latencyMs.p50 < 100, `p50 ${latencyMs.p50}`);

  assertNotBelow(serviceTimeMs, serverTimes(log));
  assert.equal(countAbove(decodeHistogram(histograms.serviceTime), 1000), 4, 'one per connection');
  assert.ok(serviceTimeMs.p99 < 100, `p99 of the service time ${serviceTimeMs.p99}`);
});

test('a freeze in an open run with a connection for each arrival: both clocks show it', async (t) => {
  const { result } = await measure(t, FREEZE, { rate: 200, duration: '3s', connections: 400 });
  for (const [name, wanted] of Object.entries(SAW_TOOTH)) {
    assertNear(result.latencyMs[name], wanted, 60, `${name} of the latency`);
    assertNear(result.serviceTimeMs[name], wanted, 60, `${name} of the service time`);
  }
});

test('a freeze in a closed run: as many samples as connections, no more are made up', async (t) => {
  const script = ['freeze', { atMs: 500, forMs: 1500, delayMs: 10 }];
  const { result, log } = await measure(t, script, { duration: '2500ms', connections: 4 });
  for (const name of ['latency', 'serviceTime']) {
    const buckets = decodeHistogram(result.histograms[name]);
    assert.equal(countAbove(buckets, 1400), 4, `long samples of the ${name}`);
    assert.equal(countAbove(buckets, 500), 4);
    assert.equal(countAbove(buckets, 0), result.requests.sent);
  }
  assertNotBelow(result.serviceTimeMs, serverTimes(log));
  assertNear(result.latencyMs.p50, 10, SLACK, 'p50');
  assertNear(result.latencyMs.max, 1500, 60, 'max');
});

test('answers that come after the time limit are not counted again', async (t) => {
  const options = { connections: 4, duration: '1500ms', timeout: 200 };
  const { result, log } = await measure(t, ['delay', 400], options);
  const { requests, latencyMs } = result;
  assert.equal(requests.ok, 0);
  assert.deepEqual(result.statusCodes, {});
  assert.equal(requests.timeouts + requests.inFlightAtEnd, requests.sent);
  assert.ok(requests.timeouts >= 20, `${requests.timeouts} timeouts`);
  assert.equal(latencyMs.censored, requests.sent);
  assert.equal(latencyMs.min, null, 'nothing was seen to its end');
  assertNear(latencyMs.p50, 200, SLACK, 'p50');
  assert.equal(log.requests.length, requests.sent);
});

test('a server that hangs is seen at the limit, in the series and in the histogram', async (t) => {
  const options = { rate: 100, connections: 100, duration: '1s', timeout: 300 };
  const { result } = await measure(t, ['hang'], options);
  const { requests, latencyMs, series, histograms } = result;
  assert.equal(requests.sent, 100);
  // What was sent in the first 0.7 s.
  assertNear(requests.timeouts, 70, 8, 'timeouts');
  assert.equal(requests.inFlightAtEnd, 100 - requests.timeouts);
  assert.equal(latencyMs.censored, 100);
  assert.equal(latencyMs.count, 100);
  const buckets = decodeHistogram(histograms.latency);
  assertNear(countAbove(buckets, 299), requests.timeouts, 1, 'samples at the limit');
  assertNear(latencyMs.p99, 300, 4 * SLACK, 'p99');
  const early = series.filter(({ tMs }) => tMs < 250).map(({ errors }) => errors);
  assert.deepEqual([...new Set(early)], [0], 'not before the limit');
  const later = series.filter(({ tMs }) => tMs >= 400 && tMs < 900);
  assert.ok(
    later.every(({ errors }) => errors > 0),
    'and from then on all the time',
  );
});

test('think time lies between a response and the next request', async (t) => {
  const options = { connections: 3, duration: '1500ms', thinkTime: 100 };
  const { result, log } = await measure(t, ['delay', 20], options);
  const pauses = [0, 1, 2].flatMap((connection) => {
    const own = log.requests.filter((request) => request.connection === connection);
    const nexts = own.slice(1).map(({ at }) => at);
    return nexts.map((at, index) => at - own[index].answeredAt);
  });
  assert.ok(pauses.length >= 27, `${pauses.length} pauses`);
  assert.ok(Math.min(...pauses) >= 100, `the shortest took ${Math.min(...pauses)}`);
  assertNear(median(pauses), 100, SLACK, 'median');
  assertNear(result.latencyMs.p50, 20, SLACK, 'the latency does not hold it');
  assertAddsUp(result);
});

test('two equal runs are not told apart', async (t) => {
  const server = await forkedTruthServer(t, 'delay', [20]);
  const throughputs = [[], []];
  for (let round = 0; round < 4; round++) {
    for (const series of throughputs) {
      // By count: an end by time would cut off a part of the last answers, more or less of it by chance.
      const result = await load({ url: server.url, pid: false, connections: 10, requests: 200 });
      series.push(result.throughput.mean);
    }
  }
  const [one, other] = throughputs.map(median);
  assertNear(one / other, 1, 0.05, 'ratio of the medians');
});

test('Little’s law: in flight is throughput times service time', async (t) => {
  const closed = await measure(t, ['delay', 20], { connections: 10, duration: 800 });
  const open = await measure(t, ['delay', 20], { rate: 400, duration: 800 });
  for (const { result } of [closed, open]) {
    const { meanInFlight, throughput, serviceTimeMs } = result;
    const byLaw = (throughput.mean * serviceTimeMs.mean) / 1000;
    assertNear(meanInFlight / byLaw, 1, 0.1, 'mean in flight against X * R');
  }
  const { littleResidual } = closed.result.generator;
  assert.ok(littleResidual !== null && littleResidual < 0.02, `residual ${littleResidual}`);
});

test('throughput is what the server completed in the time', async (t) => {
  const { result, log } = await measure(t, ['delay', 10], { connections: 5, duration: 1000 });
  const perSecond = (1000 * result.requests.ok) / result.durationMs;
  assertNear(result.throughput.mean, perSecond, 1e-6 * perSecond, 'mean');
  const spacing = median(gaps(log.requests.map(({ at }) => at).sort((a, b) => a - b)));
  assert.ok(spacing < 20, 'the server was busy all the time');
});
