import { bytes, rate, time } from '../../../format/units.js';
import type { History } from '../../hypotheses/history.js';
import type { Detected, Hypothesis } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { HeapExhaustion } from '../../observe/probe/heap-exhaustion.js';
import type { Limit } from '../limit.js';

export const MEMORY_GROWTH = {
  id: 'memory-growth',
  group: 'CPU',
  text: {
    title: 'Memory grows with the requests',
    what: 'Every request leaves something in memory for good. Sooner or later the heap is full.',
    shows:
      'The heap after a full collection grows in proportion to the requests; or a process ended because its heap was full.',
    experiment:
      "'memory after collection' repeats requests and full collections: a leak continues at the same rate, a cache fills once and stops.",
    formula: 'time left = free heap / (bytes left per request x requests per second)',
    remedy:
      'Remove what is no longer needed: on a server that it started, explain compares two heap snapshots and names what grows.',
    confirm:
      'run the load until the memory is full with half of the heap (--max-old-space-size): it takes half of the time',
    detected: 'by its signature',
    note: 'Needs the probe. The experiment can rule the limit out but not confirm it, as a constant rate is not a change.',
  },
  detectors: [detectMemoryGrowth],
  mattersAtSustainedRate: true,
  causedByObjects: 'kept',
} satisfies Limit;

/** Minimum growth that differs from caches that fill: bytes in total, and per request. */
const MIN_GROWTH_BYTES = 3.5e6;

const MIN_BYTES_PER_REQUEST = 256;

/** Maximum time until the heap is full at which its growth is a limit. */
const MAX_SECONDS_LEFT = 20 * 60;

/** Describes a process that ended because its heap was full. What it had answered before a watch began is not known. */
function describeHeapExhaustion(
  { heapUsedMb, heapLimitMb, requests }: HeapExhaustion,
  isWatched: boolean,
): Hypothesis {
  const after = isWatched ? '' : ` under the load after ${rate(requests)} requests`;
  return {
    limit: 'memory-growth',
    weight: 1,
    sentence: `out of memory: a process of the server ended${after}; its heap had ${bytes(heapUsedMb * 1e6)} of at most ${bytes(heapLimitMb * 1e6)}.`,
    arithmetic: isWatched
      ? []
      : [
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

/** The remedy, as far as it is not known what grows. */
export const FIND_LEAK = 'find the leak: take two heap snapshots and compare them';

function detectMemoryGrowth(metrics: Metrics, { retained, exhausted }: History): Detected {
  const limit = 'memory-growth';
  const { inside } = metrics.base;
  const [first] = exhausted;
  if (first) return describeHeapExhaustion(first, metrics.isWatched === true);
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
  const seconds = room / (each * Math.max(1e-9, metrics.throughput));
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
}
