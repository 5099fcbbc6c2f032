import { bytes, rate, share, time } from '../../../format/units.js';
import type { Range } from '../../../statistics/types.js';
import { findWorkingProcesses } from '../../metrics/derive.js';
import type { Loop, Metrics } from '../../metrics/types.js';
import type { HeapExhaustion } from '../../observe/probe/heap-exhaustion.js';
import { predictBusyLoop } from '../event-loop/loop.js';
import { SATURATED } from '../event-loop/loop-capacity.js';
import { computeGain, type Detector, type Hypothesis, scale } from '../hypothesis.js';

/** Share of the loop's time from which on collection is a limit of its own. */
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
    causeOf: 'event-loop-cpu',
    loopShare: part,
    weight: Math.min(1, 0.5 + part),
    sentence: `garbage: collecting young objects takes ${share(part)} of the loop's time.`,
    arithmetic: [
      `without any: ${rate(metrics.throughput)} req/s / (1 - ${share(part)}) = ${rate(metrics.throughput / (1 - part))} req/s at most`,
    ],
    evidence: [
      { what: 'collecting young objects', value: inside.gc.young, unit: '1', source: 'probe' },
    ],
    unlisted: 'unknown',
    predictions: {
      ...predictBusyLoop(metrics),
      'young generation x4': includeFreedCore(computeGain(part, 0.25, 1.15), metrics),
    },
    remedy: {
      change: 'fewer objects per request, or a larger young generation: --max-semi-space-size=64',
      predictedThroughput: scale(
        includeFreedCore(computeGain(part, 0.25, 1), metrics),
        metrics.throughput,
      ),
      nextLimit: 'event-loop-cpu',
      settings: { environment: { NODE_OPTIONS: '--max-semi-space-size=64' } },
    },
  };
};

export const detectGcOld: Detector = (metrics) => {
  const limit = 'gc-old';
  const { inside } = metrics.base;
  if (!inside || !metrics.loop) return null;
  const held = inside.gc.old + inside.gc.other;
  const young = inside.gc.young / Math.max(0.05, metrics.loop.busy);
  // The entries of collections leave out what is marked little by little; a profile sees all of it.
  const part = Math.max(
    held / Math.max(0.05, metrics.loop.busy),
    (metrics.loopTime?.gc ?? 0) - young,
  );
  if (metrics.loop.busy < SATURATED) return { limit, why: describeIdleLoop(metrics.loop) };
  const full = inside.heap.usedMb / Math.max(1, inside.heap.limitMb);
  if (part < MIN_GC_SHARE) {
    return { limit, why: `collecting old objects takes ${share(part)} of the loop's time` };
  }
  return {
    limit,
    causeOf: 'event-loop-cpu',
    loopShare: part,
    weight: Math.min(1, 0.5 + part),
    sentence: `garbage: collecting old objects takes ${share(part)} of the loop's time, up to ${time(inside.gc.longestMs)} at once; the heap is ${share(full)} of its limit.`,
    arithmetic: [
      `without any: ${rate(metrics.throughput)} req/s / (1 - ${share(part)}) = ${rate(metrics.throughput / (1 - part))} req/s at most`,
    ],
    evidence: [
      { what: 'collecting old objects', value: part, unit: '1', source: 'probe, profile' },
      { what: 'longest collection', value: inside.gc.longestMs, unit: 'ms', source: 'probe' },
      { what: 'heap used', value: inside.heap.usedMb, unit: 'MB', source: 'probe' },
    ],
    unlisted: 'unknown',
    predictions: {
      ...predictBusyLoop(metrics),
      'heap x2': includeFreedCore(computeGain(part, 0.2, 1.1), metrics),
    },
    remedy: {
      change:
        full > 0.7
          ? 'a larger heap (--max-old-space-size), or hold fewer objects'
          : `hold fewer objects for longer than a request: caches, large arrays, closures; and use large Buffers again, as memory outside of the heap (${bytes(inside.heap.externalMb * 1e6)} now) makes it collect, too`,
      // With room enough there is next to none of it.
      predictedThroughput: scale(
        includeFreedCore(computeGain(part, 0.6, 1.1), metrics),
        metrics.throughput,
      ),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** The gain where other threads of the server no longer have the core that the loop waits for: they may all be the collector's, or none. */
function includeFreedCore({ low, high }: Range, metrics: Metrics): Range {
  return { low, high: high / (1 - computeWaitForOwnThreads(metrics)) };
}

/** Part of the loop's busy time for which it waits for a core that the server's other threads have. */
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

/** What is left after the garbage is collected, before and after some requests. */
export interface Retained {
  requests: number;
  beforeBytes: number;
  afterBytes: number;
}

/** The least growth that is told from caches that fill: bytes in all, and per request. */
const MIN_GROWTH_BYTES = 6e6;
const MIN_BYTES_PER_REQUEST = 256;
/** A heap that would be full within this time is a limit. */
const MAX_SECONDS_LEFT = 20 * 60;

/** A process has ended with its heap full. */
function describeHeapExhaustion({ heapUsedMb, heapLimitMb, requests }: HeapExhaustion): Hypothesis {
  return {
    limit: 'memory-growth',
    weight: 1,
    sentence: `memory: a process of the server has ended under the load, after ${rate(requests)} requests, with ${bytes(heapUsedMb * 1e6)} of the ${bytes(heapLimitMb * 1e6)} that its heap may have.`,
    arithmetic: [
      `${bytes(heapUsedMb * 1e6)} / ${rate(requests)} requests = ${bytes((heapUsedMb * 1e6) / Math.max(1, requests))} for each at most`,
    ],
    evidence: [
      { what: 'heap used at the end', value: heapUsedMb, unit: 'MB', source: 'probe' },
      { what: 'limit of the heap', value: heapLimitMb, unit: 'MB', source: 'probe' },
    ],
    unlisted: 'unknown',
    predictions: {},
    remedy: {
      change: `${FIND_LEAK}; a larger heap (--max-old-space-size) only puts it off`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}

const FIND_LEAK = 'find what holds them: two heap snapshots, and compare what has grown';

export function detectMemoryGrowth(
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
        why: `after ${retained.requests} requests and a collection ${bytes(Math.max(0, grown))} more are held`,
      };
    }
    const room = Math.max(0, inside.heap.limitMb * 1e6 - retained.afterBytes);
    const seconds = room / (each * Math.max(1, metrics.throughput));
    const soon = seconds < MAX_SECONDS_LEFT;
    return {
      limit,
      weight: soon ? 0.97 : 0.45,
      sentence: `memory: ${bytes(each)} of each request stay, longer than was looked on; if it goes on at ${rate(metrics.throughput)} req/s the heap is full in ${time(seconds * 1000)}.`,
      arithmetic: [
        `${bytes(grown)} more after a full collection / ${retained.requests} requests = ${bytes(each)} each`,
        `${bytes(room)} left / (${bytes(each)} x ${rate(metrics.throughput)}/s) = ${time(seconds * 1000)}`,
      ],
      evidence: [
        { what: 'held after a full collection', value: grown / 1e6, unit: 'MB', source: 'probe' },
        { what: 'held per request', value: each, unit: 'B', source: 'probe' },
      ],
      unlisted: 'unknown',
      predictions: { 'memory after rest': { low: 0.6, high: 1.5 } },
      remedy: {
        change: `${FIND_LEAK}; a cache whose entries live for minutes looks the same until they end`,
        predictedThroughput: { low: metrics.throughput * 0.95, high: metrics.throughput * 1.3 },
        nextLimit: null,
      },
    };
  };
}
