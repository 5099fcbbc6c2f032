// When requests of an open run arrive, by the server's own clock, against the schedule; in milliseconds.
import assert from 'node:assert/strict';
import { load } from 'millrace';
import { assertSeenByServer } from './accounting.js';
import { forkedTruthServer } from './fork.js';
import { gaps, mean, median, quantile, variation } from './statistics.js';
import { assertAtMost, assertBetween, assertNear, timed } from './timed.js';

/** The result, and the arrivals in milliseconds after the first one. */
async function arrivalsOf(t, options, script = ['ok']) {
  const [name, ...args] = script;
  const server = await forkedTruthServer(t, name, args);
  const result = await load({ url: server.url, pid: false, connections: 20, ...options });
  const log = await server.settled(result.connections.opened);
  assertSeenByServer(result, log);
  const times = log.requests.map(({ at }) => at).sort((a, b) => a - b);
  return { result, arrivals: times.map((at) => at - times[0]) };
}

/** Arrivals that became due, sent or not. */
function dueIn({ requests: { sent, notSent } }) {
  return sent + notSent.overflow + notSent.queuedAtEnd;
}

/** Median distance of the arrivals from the times at which they were due. */
function deviation(arrivals, due) {
  const distances = arrivals.map((at, index) => at - due(index));
  // The first arrival, to which the others are related, may itself have been late.
  const offset = median(distances);
  return median(distances.map((distance) => Math.abs(distance - offset)));
}

for (const [rate, threads, seconds] of [
  [10, 1, 2],
  [100, 3, 1],
  [1000, 1, 1],
  [1000, 2, 1],
  [4000, 2, 1],
]) {
  timed(`${rate}/s, ${threads} threads`, async (t) => {
    const total = rate * seconds;
    const { result, arrivals } = await arrivalsOf(t, { rate, threads, duration: seconds * 1000 });
    const { latenessMs, workers } = result.generator;
    assert.equal(dueIn(result), total, 'exactly as many as asked for');
    const most = Math.max(...workers.map((worker) => worker.requests));
    assert.ok(most <= Math.ceil(total / threads), `${most} by one thread`);

    assertBetween(result.requests.sent, 0.98 * total, total, 'sent');
    const gap = 1000 / rate;
    const off = deviation(arrivals, (index) => index * gap);
    assertAtMost(off, 3, 'distance of half of the arrivals from their time');
    // The inner half, so that one late arrival at either end does not count for all.
    const inner = arrivals.slice(arrivals.length / 4, (arrivals.length * 3) / 4);
    assertNear(mean(gaps(inner)) / gap, 1, 0.02, 'mean gap against the gap asked for');
    assertAtMost(latenessMs.p50, 3, 'lateness p50');
  });
}

timed('equally spaced: gaps do not vary', async (t) => {
  const { arrivals } = await arrivalsOf(t, { rate: 50, threads: 2, duration: 1000 });
  assertNear(median(gaps(arrivals)), 20, 2, 'median gap');
  const [lower, upper] = [0.25, 0.75].map((q) => quantile(gaps(arrivals), q));
  assertAtMost(upper - lower, 8, 'span of half of the gaps');
});

for (const threads of [1, 2]) {
  timed(`Poisson, ${threads} threads: exponential gaps, the rate in the mean`, async (t) => {
    const options = { rate: 100, threads, arrivals: 'poisson', duration: '3s' };
    const { result, arrivals } = await arrivalsOf(t, options);
    // 300 are expected, with a standard deviation of 17.
    const due = dueIn(result);
    assert.ok(Math.abs(due - 300) < 100, `${due} arrivals`);
    const own = gaps(arrivals);
    // 1 for a Poisson process, 0 for equal gaps; a stall of this machine adds to it.
    assertBetween(variation(own), 0.8, 3, 'variation');
    // Of exponential gaps the median is ln 2 of the mean, and 1/e^2 of them are longer than two means.
    assertNear(median(own) / mean(own), Math.LN2, 0.2, 'median over mean');
    const long = own.filter((gap) => gap > 2 * mean(own)).length / own.length;
    assertNear(long, Math.exp(-2), 0.07, 'share of the gaps beyond two means');
  });
}

timed('Poisson: no two runs alike', async (t) => {
  const options = { rate: 200, arrivals: 'poisson', duration: 500 };
  const one = await arrivalsOf(t, options);
  const other = await arrivalsOf(t, options);
  const near = one.arrivals.filter((at, index) => Math.abs(at - other.arrivals[index]) < 1);
  assert.ok(near.length < one.arrivals.length / 2, `${near.length} at the same time`);
});

timed('stages: the area under the rate, at the times that follow from it', async (t) => {
  // 0 to 400/s within 1 s: k arrivals are due after sqrt(2k / 400) s. Then 0.5 s of 400/s.
  const stages = [
    { duration: '1s', rate: 400 },
    { duration: 500, rate: 400 },
  ];
  const { result, arrivals } = await arrivalsOf(t, { stages, threads: 2 });
  assert.equal(dueIn(result), 400);
  const due = (k) => (k < 200 ? 1000 * Math.sqrt((2 * k) / 400) : 1000 + (k - 200) * 2.5);
  assertAtMost(deviation(arrivals, due), 3, 'distance of half of the arrivals from their time');
});

timed('stages: up and down again', async (t) => {
  const stages = [
    { duration: 500, rate: 400 },
    { duration: 500, rate: 0 },
  ];
  const { result, arrivals } = await arrivalsOf(t, { stages });
  assert.equal(dueIn(result), 200);
  assertNear(result.durationMs, 1000, 20, 'duration');
  assertNear(arrivals.filter((at) => at < 500).length, 100, 10, 'arrivals in the first half');
});

timed('stages from a rate, with a warm-up at that rate', async (t) => {
  const stages = [{ duration: '1s', rate: 300 }];
  const { result } = await arrivalsOf(t, { rate: 100, stages, warmup: 500 });
  assert.equal(dueIn(result), 200);
  assert.equal(result.warmup.requests, 50);
});

timed(
  'a rate that the server cannot keep: the schedule goes on, and the run says so',
  async (t) => {
    const options = { rate: 200, connections: 4, duration: '1s' };
    const { result } = await arrivalsOf(t, options, ['delay', 50]);
    const { latencyMs, serviceTimeMs, requests, warnings } = result;
    assert.equal(dueIn(result), 200, 'all that was due is accounted for');
    // 4 connections with 20 answers a second each.
    assert.ok(requests.sent <= 84, `${requests.sent} sent`);
    assert.ok(warnings.some(({ id }) => id === 'rate-not-reached'));
    assertBetween(latencyMs.p50 / serviceTimeMs.p50, 5, 20, 'waiting counts as latency');
  },
);
