import { bytes, rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { findWorkingProcesses } from '../../metrics/derive.js';
import type { Loop, Metrics } from '../../metrics/types.js';
import type { HeapExhaustion } from '../../observe/probe/heap-exhaustion.js';
import { predictBusyLoop } from '../event-loop/loop.js';
import { SATURATED } from '../event-loop/loop-capacity.js';
import type { Retained } from '../history.js';
import { computeGain, type Detector, type Hypothesis, scale } from '../hypothesis.js';

/** Minimum share of the loop's busy time at which garbage collection is a limit. */
const MIN_GC_SHARE = 0.12;

export const detectGcYoung: Detector = (metrics) => {
  const limit = 'gc-young';
  const { inside } = metrics.base;
  if (!inside || !metrics.loop) return null;
  const part = inside.gc.young / Math.max(0.05, metrics.loop.busy);
  if (metrics.loop.busy < SATURATED) return { limit, why: describeIdleLoop(metrics.loop) };
  if (part < MIN_GC_SHARE)
    return { limit, why: `collecting young objects takes ${share(part)} of the loop's time` };
  return {
    limit,
    ...describeGcShare(part, metrics),
    sentence: `garbage collection: collecting young objects takes ${share(part)} of the loop's time.`,
    evidence: [
      { what: 'collecting young objects', value: inside.gc.young, unit: '1', source: 'probe' },
    ],
    predictions: {
      ...predictBusyLoop(metrics),
      'young-generation-x4': includeFreedCore(computeGain(part, 0.25, 1.15), metrics),
    },
    remedy: {
      change: 'fewer objects per request, or a larger young generation: --max-semi-space-size=64',
      predictedThroughput: scale(
        includeFreedCore(computeGain(part, 0.25, 1), metrics),
        metrics.throughput,
      ),
      nextLimit: 'event-loop-cpu',
      settings: { environment: { NODE_OPTIONS: '--max-semi-space-size=64' } },
      alternatives: [
        {
          change: 'no objects that outlive the request or its waits: made late, kept short',
          predictedThroughput: scale(
            includeFreedCore(computeGain(part, 0.8, 1.05), metrics),
            metrics.throughput,
          ),
        },
      ],
    },
  };
};

export const detectGcOld: Detector = (metrics) => {
  const limit = 'gc-old';
  const { inside } = metrics.base;
  if (!inside || !metrics.loop) return null;
  const major = inside.gc.old + inside.gc.other;
  const young = inside.gc.young / Math.max(0.05, metrics.loop.busy);
  // Performance entries leave out incremental marking; a profile includes it.
  const part = Math.max(
    major / Math.max(0.05, metrics.loop.busy),
    (metrics.loopTime?.gc ?? 0) - young,
  );
  if (metrics.loop.busy < SATURATED) return { limit, why: describeIdleLoop(metrics.loop) };
  const full = inside.heap.usedMb / Math.max(1, inside.heap.limitMb);
  if (part < MIN_GC_SHARE) {
    return { limit, why: `collecting old objects takes ${share(part)} of the loop's time` };
  }
  return {
    limit,
    ...describeGcShare(part, metrics),
    sentence: `garbage collection: collecting old objects takes ${share(part)} of the loop's time, up to ${time(inside.gc.longestMs)} at once; ${share(full)} of the heap's limit is used.`,
    evidence: [
      { what: 'collecting old objects', value: part, unit: '1', source: 'probe, profile' },
      { what: 'longest collection', value: inside.gc.longestMs, unit: 'ms', source: 'probe' },
      { what: 'heap used', value: inside.heap.usedMb, unit: 'MB', source: 'probe' },
    ],
    predictions: {
      ...predictBusyLoop(metrics),
      'heap-x2': includeFreedCore(computeGain(part, 0.2, 1.1), metrics),
    },
    remedy: {
      change:
        full > 0.7
          ? 'a larger heap (--max-old-space-size), or keep fewer objects'
          : `keep fewer objects for longer than a request: caches, large arrays, closures; and reuse large Buffers, as memory outside the heap (${bytes(inside.heap.externalMb * 1e6)} now) triggers collections too`,
      // A heap with enough room is hardly collected.
      predictedThroughput: scale(
        includeFreedCore(computeGain(part, 0.6, 1.1), metrics),
        metrics.throughput,
      ),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** Describes collections that take a share of the loop's busy time, whichever objects they collect. */
function describeGcShare(
  part: number,
  { throughput }: Metrics,
): Pick<Hypothesis, 'causeOf' | 'loopShare' | 'weight' | 'arithmetic'> {
  return {
    causeOf: 'event-loop-cpu',
    loopShare: part,
    weight: Math.min(1, 0.5 + part),
    arithmetic: [
      `without it: ${rate(throughput)} req/s / (1 - ${share(part)}) = at most ${rate(throughput / (1 - part))} req/s`,
    ],
  };
}

/** Raises the maximum gain, as the threads that occupy the core that the loop waits for may all be the collector's. */
function includeFreedCore({ low, high }: Interval, metrics: Metrics): Interval {
  return { low, high: high / (1 - computeWaitForOwnThreads(metrics)) };
}

/** Computes the share of the loop's busy time for which it waits for a core that the server's other threads use. */
function computeWaitForOwnThreads({ base, loop }: Metrics): number {
  const cpu = base.outside?.cpu;
  if (!cpu || !loop) return 0;
  const own = Math.max(
    0,
    cpu.server - findWorkingProcesses(base).reduce((sum, { main }) => sum + main.run, 0),
  );
  const all = own + cpu.self + cpu.others;
  const queued = Math.min(0.9, loop.queued / Math.max(0.05, loop.busy));
  return all === 0 ? 0 : (queued * own) / all;
}

function describeIdleLoop({ busy }: Loop): string {
  return `the event loop is only ${share(busy)} busy`;
}

/** Minimum growth that differs from caches that fill: bytes in total, and per request. */
const MIN_GROWTH_BYTES = 6e6;
const MIN_BYTES_PER_REQUEST = 256;
/** Maximum time until the heap is full at which its growth is a limit. */
const MAX_SECONDS_LEFT = 20 * 60;

/** Describes a process that ended because its heap was full. */
function describeHeapExhaustion({ heapUsedMb, heapLimitMb, requests }: HeapExhaustion): Hypothesis {
  return {
    limit: 'memory-growth',
    weight: 1,
    sentence: `out of memory: a process of the server ended under the load after ${rate(requests)} requests; its heap had ${bytes(heapUsedMb * 1e6)} of at most ${bytes(heapLimitMb * 1e6)}.`,
    arithmetic: [
      `${bytes(heapUsedMb * 1e6)} / ${rate(requests)} requests = at most ${bytes((heapUsedMb * 1e6) / Math.max(1, requests))} per request`,
    ],
    evidence: [
      { what: 'heap used at the end', value: heapUsedMb, unit: 'MB', source: 'probe' },
      { what: 'limit of the heap', value: heapLimitMb, unit: 'MB', source: 'probe' },
    ],
    predictions: {},
    remedy: {
      change: `${FIND_LEAK}; a larger heap (--max-old-space-size) only delays the end`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}

const FIND_LEAK = 'find the leak: take two heap snapshots and compare them';

export function createMemoryGrowthDetector(
  retained: Retained | null,
  exhausted: HeapExhaustion[],
): Detector {
  return (metrics: Metrics) => {
    const limit = 'memory-growth';
    const { inside } = metrics.base;
    const [first] = exhausted;
    if (first) return describeHeapExhaustion(first);
    if (!retained || !inside) return null;
    const grown = retained.afterBytes - retained.beforeBytes;
    const each = grown / Math.max(1, retained.requests);
    if (grown < MIN_GROWTH_BYTES || each < MIN_BYTES_PER_REQUEST) {
      return {
        limit,
        why: `${retained.requests} requests and a full collection left ${bytes(Math.max(0, grown))} more in memory`,
      };
    }
    const room = Math.max(0, inside.heap.limitMb * 1e6 - retained.afterBytes);
    const seconds = room / (each * Math.max(1, metrics.throughput));
    const soon = seconds < MAX_SECONDS_LEFT;
    return {
      limit,
      weight: soon ? 0.97 : 0.45,
      sentence: `memory grows: each request leaves ${bytes(each)} in memory. At ${rate(metrics.throughput)} req/s the heap is full in ${time(seconds * 1000)}.`,
      arithmetic: [
        `${bytes(grown)} more after a full collection / ${retained.requests} requests = ${bytes(each)} each`,
        `${bytes(room)} left / (${bytes(each)} x ${rate(metrics.throughput)}/s) = ${time(seconds * 1000)}`,
      ],
      evidence: [
        { what: 'growth after a full collection', value: grown / 1e6, unit: 'MB', source: 'probe' },
        { what: 'growth per request', value: each, unit: 'B', source: 'probe' },
      ],
      predictions: { 'memory-after-gc': { low: 0.6, high: 1.5 } },
      remedy: {
        change: `${FIND_LEAK}; a cache whose entries live for minutes looks the same until they expire`,
        predictedThroughput: { low: metrics.throughput * 0.95, high: metrics.throughput * 1.3 },
        nextLimit: null,
      },
    };
  };
}
