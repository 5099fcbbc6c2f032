// What the heaviest paths of a profile cost, if the loop is the limit.
import { deepEqual, equal, ok } from 'node:assert/strict';
import { test } from 'node:test';
import { buildCpuTimes } from '#internal/explain/conclusion/cpu-times.js';
import { buildHealthyMetrics } from '../../../fixtures/explain/metrics.js';

const frame = { name: 'hash', place: 'server.js:3', origin: 'application' };
const other = { name: 'emit', place: 'node:events:1', origin: 'node' };
const graph = {
  ...{ unit: 'ms', frames: [frame, other] },
  ...{ parents: [-1, -1], frameOf: [0, 1], self: [800, 1200] },
};
const measured = /** @type {any} */ ({
  ...{ pid: 7, busy: 0.98, graph },
  hotLines: { find: () => null },
});

/** Findings of a loop that is the limit, with 1000 responses per second. */
function buildFindings({ busy = 0.98, limit = 'event-loop-cpu', referenceThroughput = null } = {}) {
  const metrics = structuredClone(buildHealthyMetrics());
  metrics.base.inside.outbound = [];
  Object.assign(metrics, { single: null, loop: { ...metrics.loop, busy } });
  return /** @type {any} */ ({
    ...{ metrics, finding: { chosen: limit === null ? null : { limit } }, experiments: [] },
    ...{ baselineThroughput: 1000, referenceThroughput },
  });
}

function computeCost(findings) {
  const [{ frames, share, throughputCost }] = buildCpuTimes(measured, findings).heaviest;
  deepEqual([frames, share], [[frame], 0.4]);
  return throughputCost;
}

test('a path with 40 % of a busy loop costs two thirds of the throughput', () => {
  const cost = computeCost(buildFindings());
  ok(Math.abs(cost - 666.7) < 0.1, `${cost}`);
});

test('a path costs no more than another limit permits', () => {
  equal(computeCost(buildFindings({ referenceThroughput: 1200 })), 200);
  equal(computeCost(buildFindings({ referenceThroughput: 900 })), 0);
  const pooled = buildFindings();
  const { throughput } = pooled.metrics;
  // Two sockets, 1.6 ms per answer, a call per request.
  pooled.metrics.base.inside.outbound = [{ maxSockets: 2, answerMs: 1.6, rate: throughput }];
  equal(computeCost(pooled), 250);
});

test('a path has no known cost where the loop is not the limit', () => {
  equal(computeCost(buildFindings({ busy: 0.5 })), null);
  equal(computeCost(buildFindings({ limit: 'too-few-connections' })), null);
  equal(computeCost(buildFindings({ limit: null })), null);
});
