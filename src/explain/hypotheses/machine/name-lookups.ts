import { count, plural, rate, share, time } from '../../../format/units.js';
import { findWorkingProcesses } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { buildLoopEvidence, estimateWarmLimit } from '../event-loop/loop-capacity.js';
import { describeBusyLoop, predictQueueing } from '../event-loop/queue.js';
import { type Detected, widen } from '../hypothesis.js';
import { predictPerhapsWithoutCalls } from '../outbound/calls-from-memory.js';
import { countPendingLookups } from './pool-jobs.js';
import { proposePoolSize, readPoolSize } from './pool-size.js';

/** Minimum share of the requests in flight in a look-up at which look-ups are where requests wait. */
const MIN_LOOKUP_SHARE = 0.4;

/** Minimum ratio of the pending look-ups to the threads for them at which they queue. */
const MIN_QUEUE_RATIO = 1.2;

/**
 * Describes that most calls to another service are still looking up its name, which is part of the time that the probe
 * measures for a call; `null` if they are not.
 */
export function describeLookups(metrics: Metrics, calls: number): string | null {
  const pending = countPendingLookups(metrics);
  if (pending < 0.5 * Math.max(1, calls)) return null;
  return `${pending.toFixed(1)} of ${count(calls)} calls are still looking up the name of the service (dns.lookup)`;
}

/** Counts the look-ups that a pool runs at a time: libuv permits them half of its threads, rounded up. */
export function countLookupThreads(poolSize: number): number {
  return Math.ceil(poolSize / 2);
}

/** Detects look-ups that queue for their half of the thread pool. The other half is free, so other jobs do not wait. */
export function detectNameLookups(metrics: Metrics): Detected {
  const pending = countPendingLookups(metrics);
  if (pending < MIN_LOOKUP_SHARE * metrics.inFlight || describeBusyLoop(metrics)) return null;
  const processes = Math.max(1, findWorkingProcesses(metrics.base).length);
  const size = readPoolSize(metrics);
  const threads = processes * countLookupThreads(size);
  if (pending < MIN_QUEUE_RATIO * threads) return null;
  const larger = proposePoolSize(metrics);
  const gain = countLookupThreads(larger) / countLookupThreads(size);
  // Few look-ups may end within a block.
  const isMeasured = metrics.throughput > 0;
  const eachMs = isMeasured ? (threads * 1000) / metrics.throughput : 0;
  const predicted = predictLargerPool(metrics, gain);
  return {
    limit: 'threadpool',
    weight: 0.95,
    sentence: `name look-ups (dns.lookup) in the thread pool: ${Math.min(pending, metrics.inFlight).toFixed(1)} of ${count(metrics.inFlight)} requests in flight wait for one, and ${plural(size, 'thread')} run at most ${count(countLookupThreads(size))} at a time.`,
    arithmetic: [
      ...(isMeasured
        ? [
            `${plural(threads, 'thread')} / ${rate(metrics.throughput)} req/s = ${time(eachMs)} of a thread per request`,
          ]
        : []),
      `other jobs of the pool do not wait (${time(metrics.base.inside?.poolMs?.mean ?? 0)}): look-ups get only half of the threads`,
    ],
    evidence: [
      { what: 'pending name look-ups', value: pending, unit: 'look-ups', source: 'probe' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictQueueing(metrics),
      ...predictPerhapsWithoutCalls(metrics),
      ...(isMeasured && {
        'thread-pool-x4': {
          low: predicted.low / metrics.throughput,
          high: predicted.high / metrics.throughput,
        },
      }),
      'second-process': { low: 0.85, high: 2.15 },
      // The probe counts the look-up as a part of the call.
      'dependency-time-connections-x2': { low: 1.4, high: 2.8 },
    },
    remedy: {
      change: `UV_THREADPOOL_SIZE=${larger}, which runs ${count(countLookupThreads(larger))} look-ups at a time; fewer look-ups yield more: an agent with keepAlive, or addresses that are kept for a while (option lookup)${describeSlowName(metrics, eachMs)}`,
      predictedThroughput: isMeasured ? predicted : null,
      nextLimit: null,
      settings: { environment: { UV_THREADPOOL_SIZE: String(larger) } },
    },
  };
}

/** Predicts throughput with `gain` times as many look-ups at a time, bounded by the requests in flight and the loop. */
function predictLargerPool(metrics: Metrics, gain: number): { low: number; high: number } {
  const { throughput, maxConcurrency, unloadedLatencyMs } = metrics;
  const alone = unloadedLatencyMs ?? Number.POSITIVE_INFINITY;
  const asked = alone > 0 ? (maxConcurrency * 1000) / alone : Number.POSITIVE_INFINITY;
  const byLoop = estimateWarmLimit(metrics) ?? {
    low: Number.POSITIVE_INFINITY,
    high: Number.POSITIVE_INFINITY,
  };
  const wanted = Math.min(gain * throughput, asked);
  const range = {
    low: Math.min(widen(wanted, 0.15).low, byLoop.low),
    high: Math.min(widen(wanted, 0.15).high, byLoop.high),
  };
  return { low: Math.max(throughput, range.low), high: Math.max(1.1 * throughput, range.high) };
}

/** Describes a look-up that takes most of a single request's time: the name server or the resolver is slow. */
function describeSlowName({ unloadedLatencyMs }: Metrics, eachMs: number): string {
  if (!unloadedLatencyMs || eachMs < 0.3 * unloadedLatencyMs) return '';
  return `; a look-up takes ${share(Math.min(1, eachMs / unloadedLatencyMs))} of a single request's time: ask why the resolver is slow`;
}
