import { count, plural, rate, share, time } from '../../../format/units.js';
import { speaksHttp2 } from '../../../load/http-version.js';
import { findStreamLimit } from '../../../load/streams.js';
import type { Interval } from '../../../statistics/types.js';
import {
  predictByConnections,
  predictMoreConnections,
} from '../../hypotheses/connections/connection-count.js';
import { estimateRefusedConnections } from '../../hypotheses/connections/failures.js';
import {
  buildLoopEvidence,
  computeInjectedMs,
  estimateMaxThroughput,
  SATURATED,
} from '../../hypotheses/event-loop/loop-capacity.js';
import { type Detected, scale, widen } from '../../hypotheses/hypothesis.js';
import { predictSlowedByDelay } from '../../hypotheses/outbound/calls.js';
import { computeOpeningShare, findMainDependency } from '../../metrics/derive.js';
import type { ConnectionRamp, Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const TOO_FEW_CONNECTIONS = {
  id: 'too-few-connections',
  group: 'load',
  text: {
    title: 'Too few connections',
    what: 'Each request waits for something that does not queue (a timer, another service, network latency), and the number of connections bounds how many can wait at once. The server could serve more.',
    shows:
      'The event loop is far from busy, and a request takes hardly longer under load than alone. Requests in flight divided by the response time equal the measured throughput.',
    experiment:
      "'connections x2' yields twice the throughput at the same response time, as far as the event loop allows; 'connections /2' yields half. With a busy loop throughput would stay the same and the response time double. 'calls delayed' starts calls to other services later: throughput falls as the response time grows.",
    formula:
      'throughput = requests in flight / response time; useful connections = response time alone / CPU time per request',
    remedy:
      'More connections, up to the number at which the event loop is the limit; more than that only adds latency.',
    detected: 'by experiment',
    note: 'A load with a rate (open model) does not wait for responses and cannot have this limit.',
  },
  detectors: [detectTooFewConnections],
} satisfies Limit;

/** Maximum ratio of response times that counts as no queueing. */
const MAX_UNQUEUED_STRETCH = 1.35;

function detectTooFewConnections(metrics: Metrics): Detected {
  const { loop, maxConcurrency, responseMs, unloadedLatencyMs, throughput, model } = metrics;
  const limit = 'too-few-connections';
  if (model === 'open')
    return { limit, why: 'the load has a rate: it does not wait for responses' };
  if (loop && loop.busy >= SATURATED) {
    return { limit, why: `the event loop is ${share(loop.busy)} busy` };
  }
  const most = findStreamLimit(metrics.base.load);
  if (most !== null) {
    return { limit, why: `the server allows only ${plural(most, 'stream')} per connection` };
  }
  const refused = estimateRefusedConnections(metrics);
  if (refused > 0) {
    const all = metrics.base.load.plan.connections;
    return {
      limit,
      why: `the server does not keep ${count(refused)} of ${count(all)} connections open`,
    };
  }
  const stretch = unloadedLatencyMs ? responseMs / unloadedLatencyMs : 1;
  if (stretch > 2) {
    return {
      limit,
      why: `a request takes ${time(responseMs)} with ${plural(Math.max(1, maxConcurrency - 1), 'other')} in flight, ${time(unloadedLatencyMs)} alone: it queues`,
    };
  }
  // A client that thinks between two requests occupies its slot meanwhile: N = X (R + Z).
  const thinkMs = metrics.base.load.plan.thinkTimeMs;
  const cycleMs = responseMs + thinkMs;
  const ownMs = metrics.latencyMs;
  const thinks = thinkMs > 0 ? `, then the client pauses ${time(thinkMs)}` : '';
  const { connectionRamp } = metrics;
  const maxThroughput = estimateMaxThroughput(metrics);
  const alone = unloadedLatencyMs ?? responseMs;
  const rawKnee = maxThroughput
    ? Math.round((maxThroughput * (Math.min(alone, responseMs) + thinkMs)) / 1000)
    : null;
  // A knee closer than this makes no difference.
  const knee = rawKnee !== null && rawKnee > 1.1 * maxConcurrency ? rawKnee : null;
  const extrapolationBound = knee ? findExtrapolationBound(metrics, knee) : null;
  const reached = maxThroughput
    ? predictReachable(metrics, maxThroughput, { knee, extrapolationBound })
    : null;
  const wait = describeWait(metrics);
  const usesStreams = speaksHttp2(metrics.base.load.plan);
  return {
    limit,
    weight: stretch <= MAX_UNQUEUED_STRETCH ? 0.9 : 0.5,
    sentence: `too few ${usesStreams ? 'streams and connections' : 'connections'}: each request waits ${time(responseMs)}${wait}${thinks}, and only ${count(maxConcurrency)} can be in flight at once.`,
    arithmetic: [
      `${count(maxConcurrency)} in flight / ${time(ownMs + thinkMs)} = ${rate((maxConcurrency * 1000) / (ownMs + thinkMs))} req/s, measured ${rate(throughput)}`,
      ...(unloadedLatencyMs
        ? [`a single request takes ${time(unloadedLatencyMs)}: requests do not queue`]
        : []),
      ...(connectionRamp
        ? [
            `tried: ${count(connectionRamp.connections)} connections yield ${rate(connectionRamp.throughput)} req/s, ${time(connectionRamp.responseMs)} each${describeRamp(connectionRamp)}`,
          ]
        : []),
      ...(knee && maxThroughput && loop && !connectionRamp
        ? [
            `the loop needs ${time(loop.cpuMs)} of CPU per request: at most ${rate(maxThroughput)} req/s, reached with ${rate(maxThroughput)}/s x ${time(alone + thinkMs)} = ${count(knee)} connections, unless a pool or another service is full before (tried: up to ${count(2 * maxConcurrency)})`,
          ]
        : []),
    ],
    evidence: buildLoopEvidence(metrics),
    unlisted: 'unchanged',
    predictions: {
      ...predictByConnections(metrics, predictMoreConnections(metrics, 2), {
        low: 0.94,
        high: 1.12,
      }),
      'keep-alive': widen(1 / (1 - computeOpeningShare(metrics)), 0.15),
      'tls-keep-alive': widen(1 / (1 - computeOpeningShare(metrics)), 0.15),
      ...(loop && { 'cpu-injection': predictSlowed(cycleMs, computeInjectedMs(metrics)) }),
      ...predictSlowedByDelay(metrics),
    },
    remedy: {
      change: describeMoreConnections(knee, extrapolationBound),
      predictedThroughput: reached,
      nextLimit: extrapolationBound ? limit : 'event-loop-cpu',
      ...(knee && { settings: { connections: extrapolationBound ?? knee } }),
    },
  };
}

function describeRamp({ isQueueing, throughput, throughputAtKnee }: ConnectionRamp): string {
  if (!isQueueing) return ', without queueing yet';
  return throughput === throughputAtKnee
    ? ', and more connections yield no more'
    : ': there requests queue';
}

/** Maximum ratio of predicted to tried connections: a pool or another service may be full before the loop is. */
const MAX_EXTRAPOLATION = 2; // Source: judgment, docs/decisions/0006-explain.md

/** Finds the maximum of connections to predict for; `null` if the knee does not lie beyond it. */
function findExtrapolationBound(
  { connectionRamp, maxConcurrency }: Metrics,
  knee: number,
): number | null {
  const extrapolationBound =
    MAX_EXTRAPOLATION * (connectionRamp?.connections ?? 2 * maxConcurrency);
  return !connectionRamp?.isQueueing && knee > extrapolationBound ? extrapolationBound : null;
}

function describeMoreConnections(knee: number | null, extrapolationBound: number | null): string {
  if (knee === null) return 'more connections, until the response time grows';
  return extrapolationBound === null
    ? `about ${count(knee)} connections (or requests in flight); more than that only adds latency`
    : `more connections, at first ${count(extrapolationBound)}: twice as many as were tried; by the loop's time per request, up to ${count(knee)} help`;
}

/** Throughput of a service at its knee, as a share of its throughput where requests queue. */
const KNEE_SHARE: Interval = { low: 0.75, high: 1 };

/** Relative difference between two blocks of the same load. */
const BLOCK_NOISE = 0.05;

/** Predicts the throughput of more connections: as measured with that many, else below the bound of the loop. */
function predictReachable(
  { connectionRamp, maxConcurrency, throughput }: Metrics,
  maxThroughput: number,
  { knee, extrapolationBound }: { knee: number | null; extrapolationBound: number | null },
): Interval {
  if (
    connectionRamp &&
    !connectionRamp.isQueueing &&
    knee !== null &&
    knee <= connectionRamp.connections
  ) {
    // Fewer connections yield no more in total than many did, and no less each, but for noise.
    const low =
      (1 - BLOCK_NOISE) * ((connectionRamp.throughput * knee) / connectionRamp.connections);
    const high = (1 + BLOCK_NOISE) * connectionRamp.throughput;
    return { low: Math.max(throughput, low), high: Math.max(throughput, high) };
  }
  if (connectionRamp?.isQueueing) {
    const { throughputAtKnee } = connectionRamp;
    const { low, high } =
      throughputAtKnee === null ? scale(KNEE_SHARE, maxThroughput) : widen(throughputAtKnee, 0.1);
    return { low: Math.max(throughput, low), high: Math.max(throughput, high) };
  }
  // X(N) is concave: each further connection yields at most as much as those that were tried.
  const asked = extrapolationBound ?? knee;
  const each = connectionRamp
    ? connectionRamp.throughput / connectionRamp.connections
    : throughput / maxConcurrency;
  const byEach = asked === null ? Number.POSITIVE_INFINITY : (1 + BLOCK_NOISE) * each * asked;
  const high = Math.max(throughput, Math.min(1.1 * maxThroughput, byEach));
  return { low: Math.max(connectionRamp?.throughput ?? throughput, 0.7 * high), high };
}

/** Describes what the requests wait for, as far as the probe saw it. */
function describeWait(metrics: Metrics): string {
  const dependency = findMainDependency(metrics);
  const inFlight = metrics.base.inside?.inFlight ?? 0;
  if (dependency && dependency.answering > inFlight / 2) return ` for ${dependency.origin}`;
  const timers = metrics.base.inside?.resources.Timeout ?? 0;
  return timers > inFlight / 2 && inFlight > 0.5 ? ' for a timer' : '';
}

/** Predicts throughput when `addedMs` are added to each response time. */
function predictSlowed(responseMs: number, addedMs: number): Interval {
  return widen(responseMs / (responseMs + addedMs), 0.06);
}
