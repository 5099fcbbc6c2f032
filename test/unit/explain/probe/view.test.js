// What the probes of several processes show together, from samples as they send them.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import { ProbedProcess } from '#internal/explain/observe/probe/process.js';
import { buildProbeView } from '#internal/explain/observe/probe/view.js';

/** The channel to a process: what it sends arrives as text. */
function openChannel() {
  return /** @type {any} */ (
    Object.assign(new EventEmitter(), { setEncoding() {}, destroyed: false })
  );
}

/**
 * A process that is observed between two times, a sample each second.
 *
 * @param busy share of the time in which its loop is busy
 * @param rate requests per second
 */
function observed(
  pid,
  { fromMs, toMs, busy = 0.5, rate = 100, heapAfterOld = null, hostPid = null, hasLeft = false },
) {
  const channel = openChannel();
  const listeners = { onHello() {}, onSample() {} };
  const probed = new ProbedProcess(channel, listeners, hostPid);
  const send = (message) => channel.emit('data', `${JSON.stringify(message)}\n`);
  send({
    type: 'hello',
    pid,
    serving: true,
    threadPoolSize: 4,
    maxSemiSpaceMb: 16,
    semiSpaceMb: 16,
  });
  const [seconds, nanoseconds] = process.hrtime();
  const origin = seconds * 1000 + nanoseconds / 1e6 - performance.now();
  for (let at = fromMs; at <= toMs; at += 1000) {
    const ms = at - fromMs;
    const [ended, active] = [(rate * ms) / 1000, busy * ms];
    send({
      type: 'sample',
      at: at + origin,
      counters: { begun: ended, ended, activeMs: active, idleMs: ms - active, inFlightMs: 2 * ms },
      longest: { gcMs: 0, poolMs: 0, stallMs: 0 },
      memory: { heapUsed: 1e7, heapLimit: 2e9, heapAfterOld, external: 0, rss: 0, resources: null },
      ...{ routes: {}, outbound: {}, stalls: {} },
    });
  }
  channel.destroyed = hasLeft;
  return probed;
}

const near = (value, expected) =>
  assert.ok(Math.abs(value - expected) < 0.02 * expected, `${value}, not ${expected}`);

describe('the view of several processes', () => {
  test('of one that replaces another counts each for its part of the time', () => {
    const view = buildProbeView(
      [
        observed(1, { fromMs: 0, toMs: 30_000, hasLeft: true }),
        observed(2, { fromMs: 30_000, toMs: 60_000 }),
      ],
      0,
      60_000,
      [1, 2],
    );
    near(view.seconds, 60);
    near(view.finished, 100);
    near(view.inFlight, 2);
    near(view.utilization, 0.25);
    near(view.busyLoops, 0.5);
    assert.deepEqual([view.processes, view.pids, view.workers], [1, [], []]);
  });

  test('of a worker that starts late leaves it out of those that share the work', () => {
    const whole = { fromMs: 0, toMs: 60_000, busy: 0.9 };
    const view = buildProbeView(
      [observed(1, whole), observed(2, { fromMs: 40_000, toMs: 60_000, busy: 0.9 })],
      0,
      60_000,
      [1, 2],
    );
    assert.deepEqual([view.pids, view.workers], [[1], [1]]);
    near(view.utilization, 0.9);
  });

  test('counts a blocked loop, whose samples are late, as whole', () => {
    const view = buildProbeView(
      [
        observed(1, { fromMs: 0, toMs: 5000, busy: 0.2 }),
        observed(2, { fromMs: 0, toMs: 3000, busy: 1 }),
      ],
      0,
      5000,
    );
    near(view.utilization, 1);
    assert.deepEqual(view.pids, [1, 2]);
  });

  test('has the heap after collections, and of which processes', () => {
    const times = { fromMs: 0, toMs: 5000 };
    const both = (heapAfterOld) =>
      buildProbeView(
        [observed(1, { ...times, heapAfterOld: 1e8 }), observed(2, { ...times, heapAfterOld })],
        0,
        5000,
      ).heap;
    near(both(null).afterOldMb, 100);
    assert.deepEqual(both(null).collectedPids, [1]);
    near(both(1e8).afterOldMb, 200);
    assert.deepEqual(both(1e8).collectedPids, [1, 2]);
    near(both(null).usedMb, 20);
  });

  test('has the ids that this process sees', () => {
    const view = buildProbeView([observed(1, { fromMs: 0, toMs: 5000, hostPid: 41_234 })], 0, 5000);
    assert.deepEqual(view.pids, [41_234]);
  });
});
