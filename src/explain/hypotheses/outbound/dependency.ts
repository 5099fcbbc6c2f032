import { bytes, count, rate, share, time } from '../../../format/units.js';
import { computeTruncatedMeanMs, estimateLatencies } from '../../../statistics/durations.js';
import { computeHalvedShare, findMainDependency } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { OutboundView } from '../../observe/types.js';
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
import { type Detector, type Hypothesis, scale, widen } from '../hypothesis.js';
import { predictSlowedByDelay } from './calls.js';

/** E[t^2] / E[t]^2 from which on a few slow answers hold most of the requests. */
const HEAVY_TAIL = 3;

export const detectSlowDependency: Detector = (metrics) => {
  const limit = 'slow-dependency';
  const busy = describeBusyLoop(metrics);
  const { latencyMs } = metrics.base.load;
  const median = latencyMs.p50 ?? 0;
  const mean = latencyMs.mean ?? 0;
  const call = findMainDependency(metrics);
  const holds = call ? call.answering / Math.max(0.1, metrics.inFlight) : 0;
  const tail = mean / Math.max(0.01, median);
  const spread = call?.answerSpread ?? 1;
  const slow = call?.answerP99Ms ?? 0;
  if (busy) return { limit, why: busy };
  if (call && holds < 0.4) {
    return { limit, why: `${share(holds)} of the requests in flight wait for ${call.origin}` };
  }
  const isRare = slow >= MIN_TAIL_RATIO * (call?.answerP50Ms ?? median);
  if ((tail < 1.6 && spread < HEAVY_TAIL) || !isRare || !isWithinRoute(metrics)) {
    const held = call && describeWaitingMemory(metrics, call);
    if (held) return held;
    return {
      limit,
      why: isRare
        ? `the mean response time is ${tail.toFixed(2)} x the median: no few slow ones of one route`
        : `${call?.origin ?? 'what is called'} answers in ${time(call?.answerP50Ms ?? median)}, in ${time(slow)} at p99: no few slow ones`,
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
  // A loop that mostly waits tells little of what it can do.
  const [cold, warm] = [
    deriveLoopLimit(metrics) ?? waits,
    estimateWarmLimit(metrics)?.high ?? waits,
  ];
  const [least, most] = [Math.min(waits, cold), Math.min(waits, warm)];
  return {
    limit,
    weight: 0.93,
    sentence: `a slow dependency without a time limit: ${call.origin} answers in ${time(usual)} mostly, but ${time(slow)} at p99, and these hold most of the ${count(metrics.maxConcurrency)} requests.`,
    arithmetic: [
      `${count(metrics.maxConcurrency)} in flight / mean ${time(metrics.responseMs)} = ${rate((metrics.maxConcurrency * 1000) / metrics.responseMs)} req/s, measured ${rate(metrics.throughput)}`,
      `with a limit of ${time(deadline)} the mean is E[min(t, ${time(deadline)})] = ${time(capped)}: ${rate(waits)} req/s${least < waits ? `, if the loop can: at ${time(metrics.loop?.cpuMs ?? 0)} of CPU each, as now, ${rate(least)}` : ''}`,
      ...describeSaving(metrics, capped),
    ],
    evidence: [
      { what: 'answer time, median', value: usual, unit: 'ms', source: 'probe' },
      { what: 'answer time, p99', value: slow, unit: 'ms', source: 'probe' },
      { what: 'mean square / square mean', value: spread, unit: 'ratio', source: 'probe' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      'connections x2': { low: 1.5, high: 2.2 },
      'connections /2': scale({ low: 0.84, high: 1.24 }, computeHalvedShare(metrics)),
      'cpu injection': { low: 0.94, high: 1.04 },
      'client deadline': {
        low: (0.8 * least) / metrics.throughput,
        high: (1.2 * most) / metrics.throughput,
      },
      ...predictSlowedByDelay(metrics),
    },
    remedy: {
      change: `a time limit of ${time(deadline)} on calls to ${call.origin} (and an answer for those that run into it)`,
      predictedThroughput: { low: 0.85 * least, high: 1.15 * most },
      nextLimit: least < waits ? 'event-loop-cpu' : 'too-few-connections',
      settings: { timeoutMs: deadline },
    },
  };
};

/** What the limit saves at the same rate; nothing to say where nearly all are in flight as before. */
function describeSaving({ throughput, inFlight, base }: Metrics, cappedMs: number): string[] {
  const then = (throughput * cappedMs) / 1000;
  if (then > 0.9 * inFlight) return [];
  const held = sumRssMb(base);
  const memory = held > 0 ? `, with their part of ${bytes(held * 1e6)}` : '';
  return [
    `at today's ${rate(throughput)} req/s that is ${count(then)} in flight instead of ${count(inFlight)}${memory}`,
  ];
}

/** How far the slow answers are from the usual ones: less is a mix. */
const MIN_TAIL_RATIO = 3;

/** Whether requests of one kind take so different times: what is slow by its nature needs no limit. */
function isWithinRoute({ base }: Metrics): boolean {
  const routes = [...(base.inside?.routes ?? [])].sort(
    (a, b) => b.rate * b.handlerMs - a.rate * a.handlerMs,
  );
  const [heaviest] = routes;
  return !heaviest || heaviest.handlerMs >= 1.6 * heaviest.handlerP50Ms;
}

/** Memory that waiting requests hold from which on it is worth a word, MB. */
const MIN_WAITING_MB = 150;

/** At a rate that is served nothing is too slow, but those that wait hold memory. */
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
    sentence: `a slow dependency without a time limit: ${origin} answers in ${time(answerMs)}, and the ${count(inFlight)} requests that wait for it hold ${bytes(heldMb * 1e6)}.`,
    arithmetic: [
      `${rate(throughput)} req/s x ${time(metrics.responseMs)} = ${count((throughput * metrics.responseMs) / 1000)} in flight, measured ${count(inFlight)}`,
      `${bytes(sumRssMb(base) * 1e6)} of memory, with a single request ${bytes(sumRssMb(single) * 1e6)}: ${bytes(eachMb * 1e6)} for each in flight`,
      `with a limit of ${time(limitMs)}: ${count((throughput * limitMs) / 1000)} in flight, ${bytes(((heldMb * limitMs) / metrics.responseMs) * 1e6)}`,
    ],
    evidence: [
      { what: 'waiting for it', value: answering, unit: 'requests', source: 'probe' },
      { what: 'memory for each in flight', value: eachMb, unit: 'MB', source: 'proc' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unknown',
    predictions: {},
    remedy: {
      change: `a time limit on calls to ${origin}, as short as its users' patience, and less that is held while it is waited for`,
      predictedThroughput: widen(throughput, 0.05),
      nextLimit: null,
    },
  };
}

function sumRssMb({ outside }: Metrics['base']): number {
  return outside?.processes.reduce((sum, process) => sum + process.rssMb, 0) ?? 0;
}

export const detectSaturatedDependency: Detector = (metrics) => {
  const limit = 'saturated-dependency';
  const busy = describeBusyLoop(metrics);
  if (busy) return { limit, why: busy };
  const call = findMainDependency(metrics);
  if (!call)
    return metrics.base.inside ? { limit, why: 'no calls to other services were seen' } : null;
  const alone = metrics.single?.inside?.outbound.find(({ origin }) => origin === call.origin);
  const [now, before] = [readTypicalMs(call), readTypicalMs(alone)];
  const holds = call.answering / Math.max(0.1, metrics.inFlight);
  const full = holds >= 0.4 || call.waiting >= 0.4 * metrics.inFlight || isPoolFull(metrics, call);
  if (before === 0 || now < MIN_QUEUEING_STRETCH * before || !full) {
    return {
      limit,
      why: `${call.origin} answers in ${time(now)}, to a single request in ${time(before)}`,
    };
  }
  const most = call.rate;
  return {
    limit,
    weight: 0.94,
    sentence: `a saturated dependency, not this service: ${call.origin} answers ${rate(most)} calls a second at most; its answers take ${time(now)}, alone ${time(before)}.`,
    arithmetic: [
      `${call.answering.toFixed(1)} calls in flight / ${time(call.answerMs ?? now)} = ${rate(most)} calls a second, with ${time(before)} each it serves ${((most * before) / 1000).toFixed(1)} at a time`,
    ],
    evidence: [
      { what: 'answer time', value: now, unit: 'ms', source: 'probe' },
      { what: 'answer time of a single call', value: before, unit: 'ms', source: 'probe' },
      { what: 'calls in flight', value: call.answering, unit: 'requests', source: 'probe' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictQueueing(metrics),
      // Behind a pool it has as many calls at a time as before.
      ...(holds >= 0.4 &&
        call.waiting < 0.1 * metrics.inFlight &&
        !isPoolFull(metrics, call) && {
          // As many requests again, and all of them wait for it: (calls in flight + requests) / calls in flight.
          'dependency, connections x2': { low: 1.5, high: Math.max(2.6, 1.2 * (1 + 1 / holds)) },
        }),
      // The command may start one for each of its processes.
      'second process': { low: 0.85, high: 2.15 },
    },
    remedy: {
      change: `scale ${call.origin}, or call it less (cache, batch); nothing in this service's own code or settings helps`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
};

/** A few slow answers, which a single request may not meet, move the mean and not the median. */
function readTypicalMs(call: OutboundView | undefined): number {
  return call?.answerP50Ms ?? call?.answerMs ?? 0;
}

/** All connections to it wait for an answer, and there are fewer of them than requests. */
function isPoolFull(
  { sockets, maxConcurrency }: Metrics,
  { origin, answering }: OutboundView,
): boolean {
  const peer = sockets?.outbound.find((one) => parsePort(one.peer) === parsePort(origin));
  if (peer === undefined || peer.max >= MIN_UNPOOLED_SHARE * maxConcurrency) return false;
  return peer.max >= 2 && answering >= 0.7 * peer.max;
}

/** With so many connections for each request in flight no pool keeps any waiting. */
const MIN_UNPOOLED_SHARE = 0.9;

/** The dependency that nearly all requests in flight wait for, if it is slower the more they are: nothing lets them in one by one before it. */
export function findCommonDependency(metrics: Metrics): OutboundView | null {
  const call = findMainDependency(metrics);
  if (
    !call ||
    call.answering < MIN_COMMON_SHARE * metrics.inFlight ||
    !isSlowerUnderLoad(metrics, call)
  )
    return null;
  return call;
}

const MIN_COMMON_SHARE = 0.8;
