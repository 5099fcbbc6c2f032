// Both clocks against what the server did, in milliseconds. A service time holds the server's own time from the arrival
// of a request to its answer: no sample is shorter, so no percentile is, beyond the histogram's 3 digits.
import assert from 'node:assert/strict';
import { load } from 'millrace';
import { assertSeenByServer } from './accounting.js';
import { forkedTruthServer } from './fork.js';
import { countAbove, decodeHistogram } from './histogram.js';
import { median, quantile } from './statistics.js';
import { assertAtMost, assertBetween, assertNear, timed } from './timed.js';

/** What the way to the server and back, and this machine's other work, may add to a median. */
const SLACK = 8;
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
    const given = distribution[name];
    assert.ok(given >= least * 0.999, `${name}: ${given} < ${least}`);
  }
}

timed('a constant time', async (t) => {
  const { result, log } = await measure(t, ['delay', 50], { connections: 10, requests: 200 });
  const { latencyMs, serviceTimeMs } = result;
  const truth = serverTimes(log);
  assertNotBelow(serviceTimeMs, truth);
  assertNear(serviceTimeMs.p50, median(truth), SLACK, 'p50 of the service time');
  assertNear(serviceTimeMs.p90, quantile(truth, 0.9), 4 * SLACK, 'p90');
  // Nothing waits in a closed run: both clocks say the same.
  assertNear(latencyMs.p50, serviceTimeMs.p50, 1, 'p50 of the latency');
});

timed('one of twenty takes a second', async (t) => {
  const script = ['bimodal', { every: 20, fastMs: 20, slowMs: 1000 }];
  const { result, log } = await measure(t, script, { connections: 20, requests: 600 });
  const { latencyMs, serviceTimeMs, histograms } = result;
  assertNotBelow(serviceTimeMs, serverTimes(log));
  const buckets = decodeHistogram(histograms.latency);
  assert.equal(countAbove(buckets, 0), 600, 'each sample once');
  assert.equal(countAbove(buckets, 998), 30, 'every twentieth is slow, no other');
  assertNear(latencyMs.p50, 20, SLACK, 'p50');
  assertNear(latencyMs.p90, 20, 4 * SLACK, 'p90');
  assertNear(latencyMs.p99, 1000, 4 * SLACK, 'p99');
});

// 200 requests/s for 3 s: 600 arrivals, of which the 300 between 1 s and 2.5 s meet the freeze. One that comes after a
// share s of it waits for the rest, 1.5 s * (1 - s). Half of all latencies is spread evenly from 0 to 1.5 s.
const FREEZE = ['freeze', { atMs: 1000, forMs: 1500, delayMs: 0 }];
const SAW_TOOTH = { p75: 750, p90: 1200, p95: 1350, p99: 1470, max: 1500 };
const TOOTH = 60;

timed(
  'a freeze in an open run: a saw-tooth in the latency, in flight only in the service time',
  async (t) => {
    const options = { rate: 200, duration: '3s', connections: 4 };
    const { result, log } = await measure(t, FREEZE, options);
    const { latencyMs, serviceTimeMs, histograms } = result;
    assertNotBelow(serviceTimeMs, serverTimes(log));
    const { sent, notSent } = result.requests;
    assert.equal(sent + notSent.queuedAtEnd, 600);
    assert.equal(
      countAbove(decodeHistogram(histograms.serviceTime), 1000),
      4,
      'one per connection',
    );
    for (const [name, wanted] of Object.entries(SAW_TOOTH)) {
      assertNear(latencyMs[name], wanted, TOOTH, `${name} of the latency`);
    }
    assertAtMost(latencyMs.p50, 100, 'p50');
    assertAtMost(serviceTimeMs.p99, 100, 'p99 of the service time');
  },
);

timed(
  'a freeze in an open run with a connection for each arrival: both clocks show it',
  async (t) => {
    const { result } = await measure(t, FREEZE, { rate: 200, duration: '3s', connections: 400 });
    for (const [name, wanted] of Object.entries(SAW_TOOTH)) {
      assertNear(result.latencyMs[name], wanted, TOOTH, `${name} of the latency`);
      assertNear(result.serviceTimeMs[name], wanted, TOOTH, `${name} of the service time`);
    }
  },
);

timed(
  'a freeze in a closed run: as many samples as connections, no more are made up',
  async (t) => {
    const script = ['freeze', { atMs: 500, forMs: 1500, delayMs: 10 }];
    const { result, log } = await measure(t, script, { duration: '2500ms', connections: 4 });
    assertNotBelow(result.serviceTimeMs, serverTimes(log));
    for (const name of ['latency', 'serviceTime']) {
      const buckets = decodeHistogram(result.histograms[name]);
      assert.equal(countAbove(buckets, 1000), 4, `long samples of the ${name}`);
      assert.equal(countAbove(buckets, 0), result.requests.sent);
    }
    assertNear(result.latencyMs.p50, 10, SLACK, 'p50');
    assertNear(result.latencyMs.max, 1500, TOOTH, 'max');
  },
);

timed('answers that come after the time limit are not counted again', async (t) => {
  const options = { connections: 4, duration: '1500ms', timeout: 200 };
  const { result, log } = await measure(t, ['delay', 400], options);
  const { requests, latencyMs } = result;
  assert.equal(requests.ok, 0);
  assert.deepEqual(result.statusCodes, {});
  assert.equal(requests.timeouts + requests.inFlightAtEnd, requests.sent);
  assert.equal(latencyMs.censored, requests.sent);
  assert.equal(latencyMs.min, null, 'nothing was seen to its end');
  assert.equal(log.requests.length, requests.sent);
  assertBetween(requests.timeouts, 16, 28, 'timeouts');
  assertNear(latencyMs.p50, 200, SLACK, 'p50');
});

timed('a server that hangs is seen at the limit, in the series and in the histogram', async (t) => {
  const options = { rate: 100, connections: 100, duration: '1s', timeout: 300 };
  const { result } = await measure(t, ['hang'], options);
  const { requests, latencyMs, series, histograms } = result;
  assert.equal(requests.sent, 100);
  assert.equal(requests.inFlightAtEnd, 100 - requests.timeouts);
  assert.equal(latencyMs.censored, 100);
  assert.equal(latencyMs.count, 100);
  const early = series.filter(({ tMs }) => tMs < 150).map(({ errors }) => errors);
  assert.deepEqual([...new Set(early)], [0], 'none before the limit');
  // What was sent in the first 0.7 s.
  assertNear(requests.timeouts, 70, 8, 'timeouts');
  const atLimit = countAbove(decodeHistogram(histograms.latency), 299);
  assertNear(atLimit, requests.timeouts, 1, 'samples at the limit');
  assertNear(latencyMs.p99, 300, 4 * SLACK, 'p99');
  const later = series.filter(({ tMs }) => tMs >= 400 && tMs < 900).map(({ errors }) => errors);
  assertBetween(Math.min(...later), 1, 50, 'fewest errors of a window from then on');
});

timed('think time lies between a response and the next request', async (t) => {
  const options = { connections: 3, duration: '1500ms', thinkTime: 100 };
  const { result, log } = await measure(t, ['delay', 20], options);
  const pauses = [0, 1, 2].flatMap((connection) => {
    const own = log.requests.filter((request) => request.connection === connection);
    const nexts = own.slice(1).map(({ at }) => at);
    return nexts.map((at, index) => at - own[index].answeredAt);
  });
  const shortest = Math.min(...pauses);
  assert.ok(shortest >= 100, `the shortest took ${shortest}`);
  assertBetween(pauses.length, 27, 36, 'pauses');
  assertNear(median(pauses), 100, SLACK, 'median');
  assertNear(result.latencyMs.p50, 20, SLACK, 'p50 of the latency, which does not hold it');
});

timed('two equal runs are not told apart', async (t) => {
  const server = await forkedTruthServer(t, 'delay', [20]);
  const throughputs = [[], []];
  for (let round = 0; round < 4; round++) {
    for (const series of throughputs) {
      // By count: an end by time would cut off a part of the last answers, more or less of it by chance.
      const result = await load({ url: server.url, pid: false, connections: 10, requests: 200 });
      series.push(result.throughput.mean);
    }
  }
  // What disturbs a run makes it slower, never faster: the best of each is the least disturbed.
  const [one, other] = throughputs.map((series) => Math.max(...series));
  assertNear(one / other, 1, 0.05, 'ratio of the best');
});

timed('Little’s law: in flight is throughput times service time', async (t) => {
  const closed = await measure(t, ['delay', 20], { connections: 10, duration: 800 });
  const open = await measure(t, ['delay', 20], { rate: 400, duration: 800 });
  for (const { result } of [closed, open]) {
    const { meanInFlight, throughput, serviceTimeMs } = result;
    const byLaw = (throughput.mean * serviceTimeMs.mean) / 1000;
    assertNear(meanInFlight / byLaw, 1, 0.1, 'mean in flight against X * R');
  }
  const { littleResidual } = closed.result.generator;
  assert.notEqual(littleResidual, null);
  assertAtMost(littleResidual, 0.02, 'residual');
});

timed('throughput is what was completed in the time', async (t) => {
  const { result } = await measure(t, ['delay', 10], { connections: 5, duration: 1000 });
  const { requests, throughput, durationMs } = result;
  const perSecond = (1000 * requests.ok) / durationMs;
  assert.ok(
    Math.abs(throughput.mean / perSecond - 1) < 1e-6,
    `${throughput.mean} !== ${perSecond}`,
  );
  assertNear(durationMs, 1000, TOOTH, 'duration');
  assertBetween(throughput.mean, 350, 505, 'five connections, one answer after 10 ms each');
});

timed('what a warm-up asked for and the measurement got counts for throughput', async (t) => {
  const load = { connections: 10, warmup: 500, duration: 1000 };
  const { result } = await measure(t, ['delay', 200], load);
  const { requests, throughput, warmup, durationMs } = result;
  assertBetween(warmup.completedLater, 5, 10, 'one of each connection');
  const responses = requests.ok + warmup.completedLater;
  assertNear(throughput.mean, (1000 * responses) / durationMs, 1e-6 * throughput.mean, 'mean');
  assertBetween(throughput.mean, 40, 50.5, 'ten connections, one answer after 200 ms each');
});
