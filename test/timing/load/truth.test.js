// What a report says where the run ends before all that it asked for has been answered, against the server's own clock.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { load } from 'millrace';
import { assertSeenByServer } from '../../fixtures/truth/accounting.js';
import { forkedTruthServer } from '../../fixtures/truth/fork.js';
import { mean, median } from '../../fixtures/truth/statistics.js';
import { assertAtMost, assertBetween, assertNear, timed } from '../../fixtures/truth/timed.js';

/** Loads a server of its own; what it took for the requests that it answered comes with the result. */
async function measure(t, [script, ...args], options) {
  const server = await forkedTruthServer(t, script, args);
  const result = await load({ url: server.url, pid: false, ...options });
  const log = await server.settled(result.connections.opened);
  assertSeenByServer(result, log);
  const answered = log.requests.filter((it) => it.answeredAt !== null);
  return { result, truth: answered.map((it) => it.answeredAt - it.at) };
}

/** What the way to the server and back, and this machine's other work, may add. */
const SLACK = 8;

/** No figure is below the server's own: what it takes is the least. */
function assertTrue({ latencyMs }, truth) {
  for (const [name, ms] of Object.entries({ mean: mean(truth), p50: median(truth) })) {
    assert.ok(latencyMs[name] >= 0.99 * ms, `${name}: ${latencyMs[name]} < ${ms}`);
    assertAtMost(latencyMs[name], 1.01 * ms + SLACK, name);
  }
}

describe('figures of the server and of the generator', { concurrency: 3 }, () => {
  timed('a service of 1 s, open, 3 s: a third is in flight at the end', async (t) => {
    const options = { rate: 40, duration: '3s', connections: 200 };
    const { result, truth } = await measure(t, ['delay', 1000], options);
    const { latencyMs, percentiles, requests } = result;
    assert.ok(requests.inFlightAtEnd >= 36, `${requests.inFlightAtEnd}`);
    assertTrue(result, truth);
    assertAtMost(latencyMs.stdev, 50, 'standard deviation');
    const [, fastest] = percentiles.latency[0];
    assert.ok(fastest > 990, `nothing took ${fastest}`);
  });

  timed('a service of 50 ms, closed, 1 s: none is faster', async (t) => {
    // The end falls into the middle of a round of requests, also where each takes 1 ms longer than the delay.
    const options = { connections: 20, duration: '1035ms' };
    const { result, truth } = await measure(t, ['delay', 50], options);
    assertBetween(result.requests.inFlightAtEnd, 20, 20, 'in flight at the end');
    assertTrue(result, truth);
    const [, fastest] = result.percentiles.latency[0];
    assert.ok(fastest > 49, `nothing took ${fastest}`);
  });

  timed('a time limit: what lies above it is not known, and said so', async (t) => {
    const script = ['bimodal', { every: 10, fastMs: 20, slowMs: 1000 }];
    const options = { connections: 20, duration: '1500ms', timeout: 200 };
    const { result } = await measure(t, script, options);
    const { latencyMs, percentiles, requests, warnings } = result;
    assert.ok(requests.timeouts > 10, `${requests.timeouts}`);
    assertNear(latencyMs.p50, 20, SLACK, 'p50');
    assert.ok(!('p75' in latencyMs.atLeast));
    const bounds = ['mean', 'stdev', 'p95', 'p99', 'p99_9', 'p99_99', 'max'];
    for (const name of bounds) assert.equal(latencyMs.atLeast[name], true, name);
    assertNear(latencyMs.p95, 200, 4 * SLACK, 'p95');
    // Nine of ten at 20 ms, the others not below 200 ms.
    assertNear(latencyMs.mean, 38, SLACK, 'mean');
    assertNear(percentiles.latency.at(-1)[0], 90, 2, 'where the estimate ends');
    assert.deepEqual(
      warnings.map(({ id }) => id).filter((id) => id !== 'client-bound'),
      ['timeouts', 'failures-related', 'censored'],
    );
  });
});
