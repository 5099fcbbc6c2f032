import { count, rate, time } from '../../../format/units.js';
import { buildLoopEvidence } from '../../hypotheses/event-loop/loop-capacity.js';
import {
  describeBusyLoop,
  describeRunningLoop,
  isSlowerUnderLoad,
  MIN_QUEUEING_STRETCH,
  predictQueueing,
} from '../../hypotheses/event-loop/queue.js';
import type { Detected, Hypothesis } from '../../hypotheses/hypothesis.js';
import { describeLookups } from '../../hypotheses/machine/name-lookups.js';
import { parsePort } from '../../hypotheses/outbound/address.js';
import {
  predictPerhapsWithoutCalls,
  predictWithoutCalls,
} from '../../hypotheses/outbound/calls-from-memory.js';
import {
  describeLockingDependency,
  findLockingDependency,
} from '../../hypotheses/outbound/dependency-lock.js';
import {
  findSaturatedProgram,
  type SaturatedProgram,
} from '../../hypotheses/outbound/saturated-program.js';
import { findMainDependency } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { OutboundView } from '../../observe/types.js';
import type { Limit } from '../limit.js';

export const SATURATED_DEPENDENCY = {
  id: 'saturated-dependency',
  group: 'waiting inside',
  text: {
    title: 'Another service is the limit',
    what: 'A service that this one calls is at its own limit. Changes to this service do not help.',
    shows:
      'The loop is idle, most requests wait for the service, and it responds far slower than to a single call; or a program on the same machine that works for the requests has no CPU time left.',
    experiment:
      "'dependency, connections x2' measures that the response time of the service grows with the connections while throughput stays the same. With --allow-dependency-experiments: with 'calls from memory' throughput rises to the next limit, with 'database pool x2' and 'dependency delayed' it stays the same.",
    formula: 'maximum of the service = calls in flight / its response time',
    remedy: 'Scale that service, or call it less: cache, batch.',
    confirm:
      'put a stub in its place that answers at once, or cache its answers for one run: throughput rises to the next limit; or load it directly: it answers no more calls per second than now',
    detected: 'by experiment',
    note: 'Needs the probe, except for a program on the same machine. For protocols other than HTTP it measures the time to the first bytes of a response.',
  },
  detectors: [detectSaturatedDependency],
} satisfies Limit;

/**
 * Predicts a larger pool: more calls at a time wait longer for the dependency, and may cost it a little throughput. A pool
 * is doubled where its connections are all open.
 */
function predictLargerPool(metrics: Metrics): Hypothesis['predictions'] {
  const isPooled = findMainDependency(metrics)?.origin.startsWith(TCP_PREFIX);
  return {
    'pool-x2': { low: 0.8, high: 1.15 },
    ...(isPooled && { 'dependency-time-pool-x2': { low: 1.4, high: 2.6 } }),
  };
}

function detectSaturatedDependency(metrics: Metrics): Detected {
  const limit = 'saturated-dependency';
  const saturated = findSaturatedProgram(metrics);
  if (saturated && !describeRunningLoop(metrics)) return buildSaturatedProgram(metrics, saturated);
  const busy = describeBusyLoop(metrics);
  if (busy) return { limit, why: busy };
  const call = findMainDependency(metrics);
  if (!call)
    return metrics.base.inside ? { limit, why: 'no calls to other services were seen' } : null;
  const lookups = describeLookups(metrics, call.answering);
  if (lookups) return { limit, why: lookups };
  const alone = metrics.single?.inside?.outbound.find(({ origin }) => origin === call.origin);
  const [now, before] = [readTypicalMs(call), readTypicalMs(alone)];
  const occupiedShare = call.answering / Math.max(0.1, metrics.inFlight);
  const full =
    occupiedShare >= 0.4 || call.waiting >= 0.4 * metrics.inFlight || isPoolFull(metrics, call);
  if (before === 0 || now < MIN_QUEUEING_STRETCH * before || !full) {
    return {
      limit,
      why: `${call.origin} responds in ${time(now)}, to a single request in ${time(before)}`,
    };
  }
  const locking = findLockingDependency(metrics);
  if (locking?.isIdle) return { limit, why: describeLockingDependency(locking) };
  const maxRate = call.rate;
  return {
    limit,
    weight: locking ? 0.6 : 0.94,
    sentence: `a saturated dependency, not this service: ${call.origin} answers at most ${rate(maxRate)} calls per second; it responds in ${time(now)}, to a single call in ${time(before)}.`,
    arithmetic: [
      `${call.answering.toFixed(1)} calls in flight / ${time(call.answerMs ?? now)} = ${rate(maxRate)} calls per second; at ${time(before)} each it serves ${((maxRate * before) / 1000).toFixed(1)} at a time`,
    ],
    evidence: [
      { what: 'response time of calls', value: now, unit: 'ms', source: 'probe' },
      { what: 'response time of a single call', value: before, unit: 'ms', source: 'probe' },
      { what: 'calls in flight', value: call.answering, unit: 'requests', source: 'probe' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictQueueing(metrics),
      ...predictWithoutCalls(metrics),
      ...predictLargerPool(metrics),
      // Behind a full pool the dependency has as many calls at a time as before.
      ...(occupiedShare >= 0.4 &&
        call.waiting < 0.1 * metrics.inFlight &&
        !isPoolFull(metrics, call) && {
          // The further requests all wait for it: (calls in flight + requests) / calls in flight.
          'dependency-time-connections-x2': {
            low: 1.5,
            high: Math.max(2.6, 1.2 * (1 + 1 / occupiedShare)),
          },
        }),
      // The command may start a dependency per process.
      'second-process': { low: 0.85, high: 2.15 },
    },
    remedy: {
      change: `scale ${call.origin}, or call it less (cache, batch); no other change to this service helps`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}

function buildSaturatedProgram(
  metrics: Metrics,
  { name, cores, busiestRun, why }: SaturatedProgram,
): Hypothesis {
  const { throughput, unloadedLatencyMs, responseMs, maxConcurrency } = metrics;
  const alone = unloadedLatencyMs === null ? '' : `, ${time(unloadedLatencyMs)} alone`;
  const isSeen = busiestRun !== null;
  const what = `busiest thread of ${name} on a core`;
  return {
    limit: 'saturated-dependency',
    weight: isSeen ? 0.96 : 0.8,
    sentence: `a saturated dependency, not this service: ${name} has no CPU time left: ${why}.`,
    arithmetic: [
      `${cores.toFixed(2)} cores / ${rate(throughput)} req/s = ${time((cores * 1000) / Math.max(1e-6, throughput))} of its CPU time per request`,
      `a request takes ${time(responseMs)} with ${count(Math.max(0, maxConcurrency - 1))} others in flight${alone}`,
    ],
    evidence: [
      { what: `CPU of ${name}`, value: cores, unit: 'cores', source: 'proc' },
      ...(isSeen ? [{ what, value: busiestRun, unit: '1', source: 'proc' as const }] : []),
      ...buildLoopEvidence(metrics),
    ],
    // The place of a program that is not seen to be called is inferred.
    ...(isSeen && { isLocated: true as const }),
    unlisted: 'unchanged',
    // A second process of the server calls the same program.
    predictions: {
      ...predictQueueing(metrics),
      ...(isSeen ? predictWithoutCalls(metrics) : predictPerhapsWithoutCalls(metrics)),
      ...predictLargerPool(metrics),
      'second-process': { low: 0.85, high: 1.2 },
    },
    remedy: {
      change: `less work for ${isSeen ? name : 'it'} per request (an index, a smaller query, a cache, calls in batches), or more cores for it${isSeen ? '; no other change to this service helps' : ''}`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}

/** Reads the typical response time: the median, as a few slow responses move the mean. */
function readTypicalMs(call: OutboundView | undefined): number {
  return call?.answerP50Ms ?? call?.answerMs ?? 0;
}

/** Whether all connections to a dependency wait for a response, and there are fewer of them than requests. */
function isPoolFull(
  { sockets, maxConcurrency }: Metrics,
  { origin, answering }: OutboundView,
): boolean {
  const peer = sockets?.outbound.find((one) => parsePort(one.peer) === parsePort(origin));
  if (peer === undefined || peer.max >= MIN_UNPOOLED_SHARE * maxConcurrency) return false;
  return peer.max >= 2 && answering >= 0.7 * peer.max;
}

/** Minimum of the connections per request in flight at which no request waits for a connection. */
const MIN_UNPOOLED_SHARE = 0.9;

/**
 * Finds the dependency that nearly all requests in flight wait for, if it is slower under load: then nothing before it
 * admits them one by one.
 */
export function findCommonDependency(metrics: Metrics): OutboundView | null {
  const call = findMainDependency(metrics);
  if (
    !call ||
    findLockingDependency(metrics) ||
    call.answering < MIN_COMMON_SHARE * metrics.inFlight ||
    !isSlowerUnderLoad(metrics, call)
  )
    return null;
  return call;
}

/** Minimum share of the requests in flight that wait for it. */
const MIN_COMMON_SHARE = 0.8;
