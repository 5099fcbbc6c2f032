import { count, rate, share, time } from '../../../format/units.js';
import { computeHalvedShare, sustainsRate } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { OutboundView } from '../../observe/types.js';
import { buildLoopEvidence, deriveLoopLimit } from '../event-loop/loop-capacity.js';
import { describeBusyLoop } from '../event-loop/queue.js';
import { type Detector, type Hypothesis, scale } from '../hypothesis.js';
import { predictSlowedByDelay } from '../outbound/calls.js';

/** The kernels' timers of a delayed acknowledgement: where a gap of a response lies if it waits for one. */
const DELAYED_ACK_MS = [
  [36, 48],
  [190, 216],
] as const;

const LONG_ACK_MS = DELAYED_ACK_MS[1][0];

/** Whether a gap, in ms, is one of these timers. */
export function isDelayedAck(gapMs: number): boolean {
  return DELAYED_ACK_MS.some(([low, high]) => gapMs >= low && gapMs <= high);
}

/** A timer is no queue: throughput goes with the connections. */
function predictByConnections(metrics: Metrics): Hypothesis['predictions'] {
  return {
    'connections x2': { low: 1.6, high: 2.1 },
    'connections /2': scale({ low: 0.84, high: 1.24 }, computeHalvedShare(metrics)),
  };
}

export const detectNagleDelayedAck: Detector = (metrics) => {
  const limit = 'nagle-delayed-ack';
  const { load } = metrics.base;
  const { gapMs } = load;
  const completed = load.requests.ok + load.requests.statusErrors;
  const typical = gapMs.p50 ?? 0;
  const part = gapMs.count / Math.max(1, completed);
  const waited = (typical * part) / Math.max(0.01, metrics.responseMs);
  if (!isDelayedAck(typical) || waited < 0.2) {
    return {
      limit,
      why: `${time(gapMs.count > 0 ? typical : 0)} lie between the first and the last byte of a response`,
    };
  }
  const without = Math.max(0.2, metrics.responseMs - typical * part);
  const single = metrics.unloadedLatencyMs;
  const cpu = metrics.loop?.cpuMs ?? 0;
  const roof = cpu > 0 ? 1000 / cpu : Number.POSITIVE_INFINITY;
  const then = Math.min((metrics.maxConcurrency * 1000) / without, roof);
  return {
    limit,
    weight: computeWeight(metrics, typical, waited),
    sentence: `a timer of TCP: ${time(typical)} of ${time(metrics.responseMs)} lie between the first and the last byte; the server holds its second part back (Nagle) until the first is acknowledged, which the client delays.`,
    arithmetic: [
      `${share(part)} of the responses come in parts, ${time(typical)} apart: the delayed acknowledgement of ${typical > 100 ? 200 : 40} ms`,
      `${count(metrics.maxConcurrency)} / ${time(metrics.latencyMs)} = ${rate((metrics.maxConcurrency * 1000) / metrics.latencyMs)} req/s, measured ${rate(metrics.throughput)}`,
      ...(single ? [`alone a request takes ${time(single)}: it is no queue`] : []),
    ],
    evidence: [
      { what: 'gap within a response, median', value: typical, unit: 'ms', source: 'load' },
      { what: 'responses in parts', value: part, unit: '1', source: 'load' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictByConnections(metrics),
      // From there up to what the loop can give, whose time per request is not that of these few.
      'early acknowledgement': {
        low: Math.max(1.3, (0.3 * then) / metrics.throughput),
        high: (metrics.maxConcurrency * 1000) / 0.05 / metrics.throughput,
      },
      ...predictSlowedByDelay(metrics),
    },
    remedy: {
      change:
        'setNoDelay(true) on the server (the default of node:http since 18), or head and body in one write: end(body), cork()',
      predictedThroughput: { low: then * 0.4, high: then },
      nextLimit: then === roof ? 'event-loop-cpu' : 'too-few-connections',
    },
  };
};

/**
 * Where the experiment cannot be made, parts that come late by themselves look the same; of a rate that is borne nothing else
 * tells either. Bytes that wait for an acknowledgement do only where that is later than any is after a single part: 40 ms.
 */
function computeWeight(metrics: Metrics, gapMs: number, waited: number): number {
  const { base, model, sockets, inFlight } = metrics;
  const server = sockets?.server ?? { unsent: 0, sockets: 0 };
  if (model === 'open' && sustainsRate(base)) {
    const isHeldBack = server.unsent * server.sockets >= 0.5 * inFlight * waited;
    return gapMs >= LONG_ACK_MS && isHeldBack ? 0.99 : 0.4;
  }
  return base.load.plan.connection === 'close' && server.unsent <= 0.3 ? 0.6 : 0.99;
}

/** Half of the calls have to wait for the timer, with a single request as well, and the connection is one that holds back. */
function isWaitingForTimer(
  { single }: Metrics,
  { origin, answerP50Ms, usesNagle }: OutboundView,
): boolean {
  if (!usesNagle) return false;
  const alone = single?.inside?.outbound.find((one) => one.origin === origin)?.answerP50Ms;
  return Boolean(answerP50Ms && alone && isDelayedAck(answerP50Ms) && isDelayedAck(alone));
}

/**
 * The same timer of TCP as of responses, on what the service asks: a question in two writes, of which the second is held back until
 * the first is acknowledged. A dependency that takes so long by itself looks alike, until the connection is told not to wait.
 */
export const detectOutboundDelayedAck: Detector = (metrics) => {
  const limit = 'nagle-delayed-ack';
  const { base, maxConcurrency, throughput, responseMs, inFlight, model } = metrics;
  if (describeBusyLoop(metrics)) return null;
  const call = base.inside?.outbound.find(
    (one) => isWaitingForTimer(metrics, one) && one.answering >= 0.3 * inFlight,
  );
  if (!call?.answerP50Ms) return null;
  const calls = Math.max(1, Math.round(call.rate / throughput));
  const without = Math.max(0.2, responseMs - calls * call.answerP50Ms);
  const then = Math.min(
    (maxConcurrency * 1000) / without,
    deriveLoopLimit(metrics) ?? Number.POSITIVE_INFINITY,
  );
  return {
    limit,
    // Where nothing is tried it is a coincidence of times.
    weight: model === 'open' ? 0.4 : 0.7,
    sentence: `a timer of TCP: an answer of ${call.origin} takes ${time(call.answerP50Ms)}, as the second part of the question is held back (Nagle) until the first is acknowledged, which the other side delays.`,
    arithmetic: [
      `${time(call.answerP50Ms)} with ${count(maxConcurrency)} in flight and with one: the delayed acknowledgement, no queue`,
      `${count(maxConcurrency)} / ${time(responseMs)} = ${rate((maxConcurrency * 1000) / responseMs)} req/s, measured ${rate(throughput)}`,
    ],
    evidence: [
      { what: 'answer time, median', value: call.answerP50Ms, unit: 'ms', source: 'probe' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictByConnections(metrics),
      'questions at once': {
        low: Math.max(1.3, (0.3 * then) / throughput),
        high: (maxConcurrency * 1000) / 0.05 / throughput,
      },
    } satisfies Hypothesis['predictions'],
    remedy: {
      change: `setNoDelay(true) on the connections to ${call.origin}, or each question in one write (cork())`,
      predictedThroughput: { low: then * 0.4, high: then },
      nextLimit: 'event-loop-cpu',
    },
  };
};
