// The breakdown of the requests in flight by stage.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deriveRequestBreakdown } from '#internal/explain/conclusion/request-breakdown.js';
import { deriveMetrics } from '#internal/explain/metrics/derive.js';
import { buildHealthyMetrics } from '../../../fixtures/explain/metrics.js';

/** Derives the requests by stage for a healthy service with a change. */
function stages(change) {
  const metrics = structuredClone(buildHealthyMetrics());
  // Some of the 50 requests are in no stage, so that no stage is cut short.
  metrics.base.inside.inFlight = 20;
  metrics.base.inside.gc.young = 0.1;
  metrics.base.inside.outbound[0].answering = 10;
  change(metrics.base);
  const all = deriveRequestBreakdown(deriveMetrics(metrics));
  return Object.fromEntries(all.map(({ stage, requests }) => [stage, requests]));
}

/** Replaces the process by several that do the same. */
function cluster(base, workers, busy) {
  const [one] = base.outside.processes;
  const pids = Array.from({ length: workers }, (_, index) => 100 + index);
  base.outside.processes = pids.map((pid) => {
    return { ...one, pid, main: { ...one.main, pid, tid: pid } };
  });
  const busyLoops = workers * busy;
  Object.assign(base.inside, {
    pids,
    workers: pids,
    processes: workers,
    utilization: busy,
    busyLoops,
  });
}

function near(stages, wanted) {
  for (const [stage, requests] of Object.entries(wanted)) {
    const found = stages[stage] ?? 0;
    assert.ok(Math.abs(found - requests) < 1e-6, `${stage}: ${found}, not ${requests}`);
  }
}

describe('requests in flight', () => {
  test('are counted once each, and the rest is unexplained', () => {
    near(
      stages(() => {}),
      {
        'on-core': 0.2,
        'garbage-collection': 0.1,
        dependency: 10,
        handler: 20 - 10 - 0.3,
        unexplained: 50 - 20,
      },
    );
  });

  test('wait for a stream where the server allows fewer than the load has', () => {
    const found = stages(({ load }) => {
      Object.assign(load.plan, { httpVersion: '2', connections: 10, pipelining: 8 });
      load.connections = { ...load.connections, maxConcurrentStreams: 5 };
    });
    near(found, { 'stream-wait': 10 * (8 - 5), dependency: 10 });
    const all = Object.values(found).reduce((sum, requests) => sum + requests, 0);
    assert.ok(Math.abs(all - 10 * 8) < 1e-6, `${all}`);
  });

  test('of HTTP/2 are not all unread where a socket is', () => {
    const change = (httpVersion) => (base) => {
      Object.assign(base.load.plan, { httpVersion, connections: 5, pipelining: 10 });
      const group = { sockets: 5, min: 5, max: 5, unread: 0.4, unsent: 0 };
      base.sockets = { ...base.sockets, samples: 10, client: group, server: group };
    };
    near(stages(change('1.1')), { 'generator-unread': 20 });
    near(stages(change('2')), { 'generator-unread': 2 });
  });

  test('are on as many cores as there are loops', () => {
    near(
      stages((base) => cluster(base, 3, 0.31)),
      {
        'on-core': 3 * 0.2,
        'garbage-collection': 3 * 0.1,
        'core-wait': 3 * 0.01,
        'synchronous-call': 0,
        handler: 20 - 10 - 3 * 0.31,
      },
    );
  });

  test('wait in synchronous calls of as many loops', () => {
    near(
      stages((base) => cluster(base, 3, 0.91)),
      {
        'synchronous-call': 3 * 0.6,
        handler: 20 - 10 - 3 * 0.91,
      },
    );
  });

  test('are on cores taken by the host, as far as each loop wants one', () => {
    const stolen = stages((base) => {
      cluster(base, 3, 0.91);
      // A third of the wanted time is stolen: half of the time that each loop runs.
      Object.assign(base.outside.cpu, { cores: 4, idle: 1, wanted: 3, steal: 1 });
    });
    near(stolen, {
      steal: 3 * 0.15,
      'synchronous-call': 3 * (0.91 - 0.31 - 0.15),
    });
  });

  test('are counted by the probe alone without data of the system', () => {
    const seen = (base) => {
      cluster(base, 3, 0.31);
      base.outside = null;
    };
    near(stages(seen), { 'on-core': 3 * 0.21, 'garbage-collection': 3 * 0.1 });
  });
});
