// When requests of an open run arrive, by the server's own clock, against the schedule.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'millrace';
import { assertSeenByServer } from './accounting.js';
import { forkedTruthServer } from './fork.js';
import { gaps, mean, median, quantile, variation } from './statistics.js';

/** Arrivals in milliseconds after the first one, and the result. */
async function arrivalsOf(t, options) {
  const server = await forkedTruthServer(t, 'ok');
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
  test(`${rate}/s, ${threads} threads`, async (t) => {
    const { result, arrivals } = await arrivalsOf(t, { rate, threads, duration: seconds * 1000 });
    assert.equal(dueIn(result), rate * seconds, 'exactly as many as were due');
    assert.ok(result.requests.sent > 0.98 * rate * seconds, `${result.requests.sent} sent`);
    const off = deviation(arrivals, (index) => (index * 1000) / rate);
    assert.ok(off < 2, `half of the arrivals are within ${off} ms of their time`);
    const gap = 1000 / rate;
    assert.ok(
      Math.abs(mean(gaps(arrivals)) - gap) < 0.02 * gap,
      `mean gap ${mean(gaps(arrivals))}`,
    );
    const { latenessMs } = result.generator;
    assert.ok(latenessMs.p50 < 1, `lateness p50 ${latenessMs.p50}`);
    const worst = Math.max(...result.generator.workers.map((worker) => worker.requests));
    assert.ok(worst <= Math.ceil((rate * seconds) / threads) + 1, 'the threads share the rate');
  });
}

test('equally spaced: gaps do not vary', async (t) => {
  const { arrivals } = await arrivalsOf(t, { rate: 50, threads: 2, duration: 1000 });
  assert.ok(Math.abs(median(gaps(arrivals)) - 20) < 2);
  const spread = quantile(gaps(arrivals), 0.75) - quantile(gaps(arrivals), 0.25);
  assert.ok(spread < 5, `half of the gaps within ${spread} ms`);
});

for (const threads of [1, 2]) {
  test(`Poisson, ${threads} threads: exponential gaps, the rate in the mean`, async (t) => {
    const options = { rate: 400, threads, arrivals: 'poisson', duration: '2s' };
    const { result, arrivals } = await arrivalsOf(t, options);
    // 800 are expected, with a standard deviation of 28.
    const { sent } = result.requests;
    assert.ok(Math.abs(sent - 800) < 150, `${sent} arrivals`);
    // 1 for a Poisson process, with a standard deviation of 0.04; 0 for equal gaps.
    const v = variation(gaps(arrivals));
    assert.ok(v > 0.8 && v < 1.25, `variation ${v}`);
    // The median of exponential gaps is ln 2 of their mean.
    const ratio = median(gaps(arrivals)) / mean(gaps(arrivals));
    assert.ok(Math.abs(ratio - Math.LN2) < 0.15, `median over mean ${ratio}`);
  });
}

test('Poisson: no two runs alike', async (t) => {
  const options = { rate: 200, arrivals: 'poisson', duration: 500 };
  const one = await arrivalsOf(t, options);
  const other = await arrivalsOf(t, options);
  const near = one.arrivals.filter((at, index) => Math.abs(at - other.arrivals[index]) < 1);
  assert.ok(near.length < one.arrivals.length / 2);
});

test('stages: the area under the rate, at the times that follow from it', async (t) => {
  // 0 to 400/s within 1 s: k arrivals are due after sqrt(2k / 400) s. Then 0.5 s of 400/s.
  const stages = [
    { duration: '1s', rate: 400 },
    { duration: 500, rate: 400 },
  ];
  const { result, arrivals } = await arrivalsOf(t, { stages, threads: 2 });
  assert.equal(dueIn(result), 400);
  const due = (k) => (k < 200 ? 1000 * Math.sqrt((2 * k) / 400) : 1000 + (k - 200) * 2.5);
  const off = deviation(arrivals, due);
  assert.ok(off < 3, `half of the arrivals are within ${off} ms of their time`);
});

test('stages: up and down again', async (t) => {
  const stages = [
    { duration: 500, rate: 400 },
    { duration: 500, rate: 0 },
  ];
  const { result, arrivals } = await arrivalsOf(t, { stages });
  assert.equal(dueIn(result), 200);
  assert.ok(Math.abs(result.durationMs - 1000) < 20);
  const firstHalf = arrivals.filter((at) => at < 500).length;
  assert.ok(Math.abs(firstHalf - 100) < 10, `${firstHalf} in the first half`);
});

test('stages from a rate, with a warm-up at that rate', async (t) => {
  const stages = [{ duration: '1s', rate: 300 }];
  const { result } = await arrivalsOf(t, { rate: 100, stages, warmup: 500 });
  assert.equal(dueIn(result), 200);
  assert.equal(result.warmup.requests, 50);
});

test('a rate that the server cannot keep: the schedule goes on, and the run says so', async (t) => {
  const server = await forkedTruthServer(t, 'delay', [50]);
  const options = { rate: 200, connections: 4, duration: '1s', pid: false };
  const result = await load({ url: server.url, ...options });
  await server.settled(result.connections.opened);
  const { sent, notSent } = result.requests;
  assert.equal(dueIn(result), 200, 'all that was due is accounted for');
  assert.ok(sent < 100 && notSent.queuedAtEnd > 100);
  assert.ok(result.latencyMs.p50 > 5 * result.serviceTimeMs.p50, 'waiting counts as latency');
  assert.ok(result.warnings.some(({ id }) => id === 'rate-not-reached'));
});
