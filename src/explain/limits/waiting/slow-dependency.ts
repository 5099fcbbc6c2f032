import { bytes, count, rate, share, time } from '../../../format/units.js';
import { computeTruncatedMeanMs, estimateLatencies } from '../../../statistics/durations.js';
import { predictByConnections } from '../../hypotheses/connections/connection-count.js';
import {
  buildLoopEvidence,
  deriveLoopLimit,
  estimateWarmLimit,
} from '../../hypotheses/event-loop/loop-capacity.js';
import { describeBusyLoop } from '../../hypotheses/event-loop/queue.js';
import { type Detected, type Hypothesis, widen } from '../../hypotheses/hypothesis.js';
import { describeLookups } from '../../hypotheses/machine/name-lookups.js';
import { predictSlowedByDelay } from '../../hypotheses/outbound/calls.js';
import { predictWithoutCalls } from '../../hypotheses/outbound/calls-from-memory.js';
import { findMainDependency } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { OutboundView } from '../../observe/types.js';
import type { Limit } from '../limit.js';

export const SLOW_DEPENDENCY = {
  id: 'slow-dependency',
  group: 'waiting inside',
  text: {
    title: 'A slow service without a time limit',
    what: 'Most calls to a service are fast, a few take very long, and those few occupy most of the requests in flight.',
    shows:
      'The mean response time is far above the median, or the response times of the service have a heavy tail; most requests in flight wait for it. At a sustained rate, the waiting requests take much memory.',
    experiment:
      "'client timeout' makes the client give up after a time that usual responses stay below: more requests finish per second, as predicted from the distribution. 'calls from memory' (--allow-dependency-experiments) shows what is possible without the service.",
    formula: 'throughput = requests in flight / mean of min(response time, time limit)',
    remedy: 'A time limit on the calls, and a response for requests whose call times out.',
    confirm:
      'set the time limit: throughput rises as predicted, and the requests that wait become few',
    detected: 'by experiment',
    note: 'Needs the probe, which measures the response times of the service.',
  },
  detectors: [detectSlowDependency],
  remedyExperiments: [{ experiment: 'client-timeout' }],
  isWhollyTried: true,
  mattersAtSustainedRate: true,
} satisfies Limit;

/** Minimum E[t^2] / E[t]^2 at which a few slow responses occupy most of the requests in flight. */
const HEAVY_TAIL = 3;

/** Share of the capacity of a loop that is reached at least, if its cost per request is known from a mostly idle loop. */
const EXTRAPOLATED_SHARE = 0.5;

function detectSlowDependency(metrics: Metrics): Detected {
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
    metrics.base.durations ?? estimateLatencies([metrics.base.load.histograms]),
    deadline,
  );
  const waits = (metrics.maxConcurrency * 1000) / capped;
  // The cost per request of a mostly idle loop says little about its capacity.
  const [cold, warm] = [
    deriveLoopLimit(metrics) ?? waits,
    estimateWarmLimit(metrics)?.high ?? waits,
  ];
  const [minThroughput, maxThroughput] = [Math.min(waits, cold), Math.min(waits, warm)];
  const isExtrapolated = minThroughput < waits;
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
      'cpu-injection': { low: 0.94, high: 1.04 },
      'client-timeout': {
        low: ((isExtrapolated ? EXTRAPOLATED_SHARE : 0.8) * minThroughput) / metrics.throughput,
        high: (1.2 * maxThroughput) / metrics.throughput,
      },
      ...predictSlowedByDelay(metrics),
      ...predictWithoutCalls(metrics),
    },
    remedy: {
      change: `a time limit of ${time(deadline)} on calls to ${call.origin}, and a response for requests whose call times out`,
      predictedThroughput: {
        low: (isExtrapolated ? EXTRAPOLATED_SHARE : 0.85) * minThroughput,
        high: 1.15 * maxThroughput,
      },
      // The slowest requests wait for the time limit, and the rest of their time.
      predictedP99Ms: { low: 0.85 * deadline, high: 1.3 * (deadline + usual) },
      nextLimit: isExtrapolated ? 'event-loop-cpu' : 'too-few-connections',
      settings: { timeoutMs: deadline },
    },
  };
}

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
  const { base, single, inFlight, model, throughput, isWatched } = metrics;
  // In production memory grows and shrinks for other reasons too.
  if (isWatched || model !== 'open' || !single || !answerMs || answering < 0.8 * inFlight)
    return null;
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
