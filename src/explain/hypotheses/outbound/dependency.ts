import { bytes, count, rate, share, time } from '../../../format/units.js';
import { computeTruncatedMeanMs, estimateLatencies } from '../../../statistics/durations.js';
import { findMainDependency } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { OutboundView } from '../../observe/types.js';
import { predictByConnections } from '../connections/connection-count.js';
import {
  buildLoopEvidence,
  deriveLoopLimit,
  estimateWarmLimit,
} from '../event-loop/loop-capacity.js';
import {
  describeBusyLoop,
  isSlowerUnderLoad,
  MIN_QUEUEING_STRETCH,
  parsePort,
  predictQueueing,
} from '../event-loop/queue.js';
import { type Detector, type Hypothesis, widen } from '../hypothesis.js';
import { describeLookups } from '../machine/name-lookups.js';
import { predictSlowedByDelay } from './calls.js';
import {
  findCalledProgram,
  findSaturatedProgram,
  type SaturatedProgram,
} from './saturated-program.js';

/** Minimum E[t^2] / E[t]^2 at which a few slow responses occupy most of the requests in flight. */
const HEAVY_TAIL = 3;

export const detectSlowDependency: Detector = (metrics) => {
  const limit = 'slow-dependency';
  const busy = describeBusyLoop(metrics);
  const { latencyMs } = metrics.base.load;
  const median = latencyMs.p50 ?? 0;
  const mean = latencyMs.mean ?? 0;
  const call = findMainDependency(metrics);
  const occupiedShare = call ? call.answering / Math.max(0.1, metrics.inFlight) : 0;
  const tail = mean / Math.max(0.01, median);
  const spread = call?.answerSpread ?? 1;
  const slow = call?.answerP99Ms ?? 0;
  if (busy) return { limit, why: busy };
  const lookups = call && describeLookups(metrics, call.answering);
  if (lookups) return { limit, why: lookups };
  if (call && occupiedShare < 0.4) {
    return {
      limit,
      why: `${share(occupiedShare)} of the requests in flight wait for ${call.origin}`,
    };
  }
  const isRare = slow >= MIN_TAIL_RATIO * (call?.answerP50Ms ?? median);
  if ((tail < 1.6 && spread < HEAVY_TAIL) || !isRare || !isWithinRoute(metrics)) {
    const waitingMemory = call && describeWaitingMemory(metrics, call);
    if (waitingMemory) return waitingMemory;
    return {
      limit,
      why: isRare
        ? `the mean response time is ${tail.toFixed(2)} x the median: no rare slow responses within a route`
        : `${call?.origin ?? 'the dependency'} responds in ${time(call?.answerP50Ms ?? median)} (median), ${time(slow)} (p99): no rare slow responses`,
    };
  }
  if (!call) return null;
  const usual = call.answerP50Ms ?? median;
  const deadline = metrics.deadlineMs ?? usual * 3;
  const capped = computeTruncatedMeanMs(
    estimateLatencies([metrics.base.load.histograms]),
    deadline,
  );
  const waits = (metrics.maxConcurrency * 1000) / capped;
  // The cost per request of a mostly idle loop says little about its capacity.
  const [cold, warm] = [
    deriveLoopLimit(metrics) ?? waits,
    estimateWarmLimit(metrics)?.high ?? waits,
  ];
  const [minThroughput, maxThroughput] = [Math.min(waits, cold), Math.min(waits, warm)];
  return {
    limit,
    weight: 0.93,
    sentence: `a slow dependency without a time limit: ${call.origin} usually responds in ${time(usual)}, but in ${time(slow)} at p99, and those calls occupy most of the ${count(metrics.maxConcurrency)} requests in flight.`,
    arithmetic: [
      `${count(metrics.maxConcurrency)} in flight / mean ${time(metrics.responseMs)} = ${rate((metrics.maxConcurrency * 1000) / metrics.responseMs)} req/s, measured ${rate(metrics.throughput)}`,
      `with a limit of ${time(deadline)} the mean is E[min(t, ${time(deadline)})] = ${time(capped)}: ${rate(waits)} req/s${minThroughput < waits ? `, or ${rate(minThroughput)} if the loop still takes ${time(metrics.loop?.cpuMs ?? 0)} of CPU per request` : ''}`,
      ...describeSaving(metrics, capped),
    ],
    evidence: [
      { what: 'response time of calls, median', value: usual, unit: 'ms', source: 'probe' },
      { what: 'response time of calls, p99', value: slow, unit: 'ms', source: 'probe' },
      { what: 'E[t^2] / E[t]^2 of calls', value: spread, unit: 'ratio', source: 'probe' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictByConnections(metrics, { low: 1.5, high: 2.2 }, { low: 0.84, high: 1.24 }),
      'cpu injection': { low: 0.94, high: 1.04 },
      'client deadline': {
        low: (0.8 * minThroughput) / metrics.throughput,
        high: (1.2 * maxThroughput) / metrics.throughput,
      },
      ...predictSlowedByDelay(metrics),
    },
    remedy: {
      change: `a time limit of ${time(deadline)} on calls to ${call.origin}, and a response for requests whose call times out`,
      predictedThroughput: { low: 0.85 * minThroughput, high: 1.15 * maxThroughput },
      // The slowest requests wait for the time limit, and the rest of their time.
      predictedP99Ms: { low: 0.85 * deadline, high: 1.3 * (deadline + usual) },
      nextLimit: minThroughput < waits ? 'event-loop-cpu' : 'too-few-connections',
      settings: { timeoutMs: deadline },
    },
  };
};

/**
 * Describes what the time limit saves at the same rate; empty where nearly as many requests are in flight as before.
 */
function describeSaving({ throughput, inFlight, base }: Metrics, cappedMs: number): string[] {
  const then = (throughput * cappedMs) / 1000;
  if (then > 0.9 * inFlight) return [];
  const rssMb = sumRssMb(base);
  const memory = rssMb > 0 ? `, and a smaller part of ${bytes(rssMb * 1e6)} of memory` : '';
  return [
    `at ${rate(throughput)} req/s as now, that is ${count(then)} in flight instead of ${count(inFlight)}${memory}`,
  ];
}

/** Minimum ratio of slow to usual responses: less is a mix of different requests. */
const MIN_TAIL_RATIO = 3;

/** Whether requests of the same route take such different times: a route that is always slow needs no time limit. */
function isWithinRoute({ base }: Metrics): boolean {
  const routes = [...(base.inside?.routes ?? [])].sort(
    (a, b) => b.rate * b.handlerMs - a.rate * a.handlerMs,
  );
  const [heaviest] = routes;
  return !heaviest || heaviest.handlerMs >= 1.6 * heaviest.handlerP50Ms;
}

/** Minimum memory of waiting requests at which it is a limit, MB. */
const MIN_WAITING_MB = 150;

/** Describes the memory that waiting requests hold at a sustained rate, where a slow dependency costs nothing else. */
function describeWaitingMemory(
  metrics: Metrics,
  { origin, answering, answerMs }: OutboundView,
): Hypothesis | null {
  const { base, single, inFlight, model, throughput } = metrics;
  if (model !== 'open' || !single || !answerMs || answering < 0.8 * inFlight) return null;
  const heldMb = sumRssMb(base) - sumRssMb(single);
  if (heldMb < MIN_WAITING_MB || inFlight < 20) return null;
  const eachMb = heldMb / inFlight;
  const limitMs = answerMs / 3;
  return {
    limit: 'slow-dependency',
    weight: 0.9,
    sentence: `a slow dependency without a time limit: ${origin} responds in ${time(answerMs)}, and the ${count(inFlight)} requests that wait for it take ${bytes(heldMb * 1e6)} of memory.`,
    arithmetic: [
      `${rate(throughput)} req/s x ${time(metrics.responseMs)} = ${count((throughput * metrics.responseMs) / 1000)} in flight, measured ${count(inFlight)}`,
      `${bytes(sumRssMb(base) * 1e6)} of memory, ${bytes(sumRssMb(single) * 1e6)} with a single request: ${bytes(eachMb * 1e6)} per request in flight`,
      `with a limit of ${time(limitMs)}: ${count((throughput * limitMs) / 1000)} in flight, ${bytes(((heldMb * limitMs) / metrics.responseMs) * 1e6)}`,
    ],
    evidence: [
      {
        what: 'requests waiting for the dependency',
        value: answering,
        unit: 'requests',
        source: 'probe',
      },
      { what: 'memory per request in flight', value: eachMb, unit: 'MB', source: 'proc' },
      ...buildLoopEvidence(metrics),
    ],
    predictions: {},
    remedy: {
      change: `a time limit on calls to ${origin}, no longer than users wait, and less memory per waiting request`,
      predictedThroughput: widen(throughput, 0.05),
      predictedP99Ms: { low: 0.85 * limitMs, high: 1.3 * limitMs },
      nextLimit: null,
    },
  };
}

function sumRssMb({ outside }: Metrics['base']): number {
  return outside?.processes.reduce((sum, process) => sum + process.rssMb, 0) ?? 0;
}

export const detectSaturatedDependency: Detector = (metrics) => {
  const limit = 'saturated-dependency';
  const saturated = findSaturatedProgram(metrics);
  const busy = describeBusyLoop(metrics);
  // A loop that lacks a core for most of its time is busy with waiting for it.
  const lacksCore = metrics.loop !== null && metrics.loop.queued > metrics.loop.run;
  if (saturated && (!busy || lacksCore)) return buildSaturatedProgram(metrics, saturated);
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
      // Behind a full pool the dependency has as many calls at a time as before.
      ...(occupiedShare >= 0.4 &&
        call.waiting < 0.1 * metrics.inFlight &&
        !isPoolFull(metrics, call) && {
          // The further requests all wait for it: (calls in flight + requests) / calls in flight.
          'dependency, connections x2': {
            low: 1.5,
            high: Math.max(2.6, 1.2 * (1 + 1 / occupiedShare)),
          },
        }),
      // The command may start a dependency per process.
      'second process': { low: 0.85, high: 2.15 },
    },
    remedy: {
      change: `scale ${call.origin}, or call it less (cache, batch); no other change to this service helps`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
};

function buildSaturatedProgram(metrics: Metrics, { program, why }: SaturatedProgram): Hypothesis {
  const { peers, cores } = program;
  const { throughput, unloadedLatencyMs, responseMs, maxConcurrency } = metrics;
  const alone = unloadedLatencyMs === null ? '' : `, ${time(unloadedLatencyMs)} alone`;
  return {
    limit: 'saturated-dependency',
    weight: 0.96,
    sentence: `a saturated dependency, not this service: ${program.program} (${peers[0]}) has no CPU time left: ${why}.`,
    arithmetic: [
      `${cores.toFixed(2)} cores / ${rate(throughput)} req/s = ${time((cores * 1000) / Math.max(1e-6, throughput))} of its CPU time per request`,
      `a request takes ${time(responseMs)} with ${count(Math.max(0, maxConcurrency - 1))} others in flight${alone}`,
    ],
    evidence: [
      { what: `CPU of ${program.program}`, value: cores, unit: 'cores', source: 'proc' },
      {
        what: `busiest thread of ${program.program} on a core`,
        value: program.busiestThread.run,
        unit: '1',
        source: 'proc',
      },
      ...buildLoopEvidence(metrics),
    ],
    isLocated: true,
    unlisted: 'unchanged',
    // A second process of the server calls the same program.
    predictions: { ...predictQueueing(metrics), 'second process': { low: 0.85, high: 1.2 } },
    remedy: {
      change: `less work for ${program.program} per request (an index, a smaller query, a cache, calls in batches), or more cores for it; no other change to this service helps`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}

/** A dependency at which calls wait for what other requests hold, such as a locked row. */
export interface LockingDependency {
  call: OutboundView;
  /** Calls that it would serve at a time if each took as long as a single one. */
  ownCalls: number;
  /** Whether it was seen to use little CPU time: a dependency on another machine is not seen. */
  isIdle: boolean;
}

/** Maximum of the calls that a dependency serves at a time if it is idle in between. */
const MAX_OWN_CALLS = 0.6;
/** Minimum and maximum of the requests served at a time if a lock admits one. */
const [MIN_LOCKED_REQUESTS, MAX_LOCKED_REQUESTS] = [0.7, 1.5];
/** Minimum ratio of the mean response time of calls to that of a single call, where they wait for a lock. */
const MIN_LOCK_STRETCH = 4;

/** Maximum of the cores that an idle dependency uses. */
const MAX_IDLE_USE = 0.5;

/**
 * Finds the dependency at which calls may wait for what other requests hold, such as a locked row of a database: it
 * would be idle most of the time with the work of these calls alone, while one whole request is served at a time. `null`
 * if there is none. HTTP services lock nothing between calls.
 */
export function findLockingDependency(metrics: Metrics): LockingDependency | null {
  const { throughput, unloadedLatencyMs, single } = metrics;
  const call = findMainDependency(metrics);
  const alone = single?.inside?.outbound.find(({ origin }) => origin === call?.origin);
  if (!call?.origin.startsWith(TCP_PREFIX) || !alone || !unloadedLatencyMs) return null;
  if (alone.rate === 0 || call.rate === 0) return null;
  // By Little's law, as the times of protocols other than HTTP are medians.
  const [now, before] = [call, alone].map(({ answering, rate }) => answering / rate);
  if (!now || !before || now < MIN_LOCK_STRETCH * before) return null;
  const ownCalls = call.rate * before;
  const requests = (throughput * unloadedLatencyMs) / 1000;
  const isLocked = MIN_LOCKED_REQUESTS <= requests && requests <= MAX_LOCKED_REQUESTS;
  if (!isLocked || ownCalls > MAX_OWN_CALLS) return null;
  const program = findCalledProgram(call, metrics);
  return { call, ownCalls, isIdle: program !== null && program.cores <= MAX_IDLE_USE };
}

/** Describes why a dependency at which calls wait is not saturated. */
function describeLockingDependency({ call, ownCalls }: LockingDependency): string {
  return `${rate(call.rate)} calls per second occupy ${call.origin} ${share(ownCalls)} of the time if each takes as long as a single one: they wait for what other requests hold`;
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
