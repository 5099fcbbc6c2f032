import { count, rate, share, time } from '../../../format/units.js';
import { halfShare, sustainsRate } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { OutboundView } from '../../observe/types.js';
import { loopEvidence, loopLimit } from '../event-loop/loop-capacity.js';
import { idleLoop } from '../event-loop/queue.js';
import { type Detector, type Hypothesis, times } from '../hypothesis.js';
import { slowedByDelay } from '../outbound/calls.js';

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
function withConnections(facts: Metrics): Hypothesis['predictions'] {
  return {
    'connections x2': { low: 1.6, high: 2.1 },
    'connections /2': times({ low: 0.84, high: 1.24 }, halfShare(facts)),
  };
}

export const nagleDelayedAck: Detector = (facts) => {
  const limit = 'nagle-delayed-ack';
  const { load } = facts.base;
  const { gapMs } = load;
  const completed = load.requests.ok + load.requests.statusErrors;
  const typical = gapMs.p50 ?? 0;
  const part = gapMs.count / Math.max(1, completed);
  const waited = (typical * part) / Math.max(0.01, facts.responseMs);
  if (!isDelayedAck(typical) || waited < 0.2) {
    return {
      limit,
      why: `${time(gapMs.count > 0 ? typical : 0)} lie between the first and the last byte of a response`,
    };
  }
  const without = Math.max(0.2, facts.responseMs - typical * part);
  const single = facts.unloadedLatencyMs;
  const cpu = facts.loop?.cpuMs ?? 0;
  const roof = cpu > 0 ? 1000 / cpu : Number.POSITIVE_INFINITY;
  const then = Math.min((facts.maxConcurrency * 1000) / without, roof);
  return {
    limit,
    weight: weightOf(facts, typical, waited),
    sentence: `a timer of TCP: ${time(typical)} of ${time(facts.responseMs)} lie between the first and the last byte; the server holds its second part back (Nagle) until the first is acknowledged, which the client delays.`,
    arithmetic: [
      `${share(part)} of the responses come in parts, ${time(typical)} apart: the delayed acknowledgement of ${typical > 100 ? 200 : 40} ms`,
      `${count(facts.maxConcurrency)} / ${time(facts.latencyMs)} = ${rate((facts.maxConcurrency * 1000) / facts.latencyMs)} req/s, measured ${rate(facts.throughput)}`,
      ...(single ? [`alone a request takes ${time(single)}: it is no queue`] : []),
    ],
    evidence: [
      { what: 'gap within a response, median', value: typical, unit: 'ms', source: 'load' },
      { what: 'responses in parts', value: part, unit: '1', source: 'load' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: {
      ...withConnections(facts),
      // From there up to what the loop can give, whose time per request is not that of these few.
      'early acknowledgement': {
        low: Math.max(1.3, (0.3 * then) / facts.throughput),
        high: (facts.maxConcurrency * 1000) / 0.05 / facts.throughput,
      },
      ...slowedByDelay(facts),
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
function weightOf(facts: Metrics, gapMs: number, waited: number): number {
  const { base, model, sockets, inFlight } = facts;
  const server = sockets?.server ?? { unsent: 0, sockets: 0 };
  if (model === 'open' && sustainsRate(base)) {
    const isHeld = server.unsent * server.sockets >= 0.5 * inFlight * waited;
    return gapMs >= LONG_ACK_MS && isHeld ? 0.99 : 0.4;
  }
  return base.load.plan.connection === 'close' && server.unsent <= 0.3 ? 0.6 : 0.99;
}

/** Half of the calls have to wait for the timer, with a single request as well, and the connection is one that holds back. */
function waitsForTimer(
  { single }: Metrics,
  { origin, answerP50Ms, holdsBack }: OutboundView,
): boolean {
  if (!holdsBack) return false;
  const alone = single?.inside?.outbound.find((one) => one.origin === origin)?.answerP50Ms;
  return Boolean(answerP50Ms && alone && isDelayedAck(answerP50Ms) && isDelayedAck(alone));
}

/**
 * The same timer of TCP as of responses, on what the service asks: a question in two writes, of which the second is held back until
 * the first is acknowledged. A dependency that takes so long by itself looks alike, until the connection is told not to wait.
 */
export const outboundDelayedAck: Detector = (facts) => {
  const limit = 'nagle-delayed-ack';
  const { base, maxConcurrency, throughput, responseMs, inFlight, model } = facts;
  if (idleLoop(facts)) return null;
  const call = base.inside?.outbound.find(
    (one) => waitsForTimer(facts, one) && one.answering >= 0.3 * inFlight,
  );
  if (!call?.answerP50Ms) return null;
  const calls = Math.max(1, Math.round(call.rate / throughput));
  const without = Math.max(0.2, responseMs - calls * call.answerP50Ms);
  const then = Math.min(
    (maxConcurrency * 1000) / without,
    loopLimit(facts) ?? Number.POSITIVE_INFINITY,
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
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: {
      ...withConnections(facts),
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
