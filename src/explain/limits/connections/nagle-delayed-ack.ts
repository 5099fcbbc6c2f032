import { count, rate, share, time } from '../../../format/units.js';
import { speaksHttp2 } from '../../../load/http-version.js';
import { predictByConnections } from '../../hypotheses/connections/connection-count.js';
import { isDelayedAck, LONG_ACK_MS } from '../../hypotheses/connections/delayed-ack.js';
import {
  buildLoopEvidence,
  deriveLoopLimit,
  SATURATED,
} from '../../hypotheses/event-loop/loop-capacity.js';
import { describeBusyLoop } from '../../hypotheses/event-loop/queue.js';
import type { Detected, Hypothesis } from '../../hypotheses/hypothesis.js';
import { predictSlowedByDelay } from '../../hypotheses/outbound/calls.js';
import { sustainsRate } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { OutboundView } from '../../observe/types.js';
import type { Limit } from '../limit.js';

export const NAGLE_DELAYED_ACK = {
  id: 'nagle-delayed-ack',
  group: 'connections and TCP',
  text: {
    title: 'Delayed acknowledgements (the 40 ms timer of TCP)',
    what: "The server sends a response in two parts, or the service sends a call so. Nagle's algorithm holds back the second part until the first is acknowledged, and the receiver delays that.",
    shows:
      'The first and the last byte of a response are 40 ms apart (200 ms on some systems), and the CPU is idle; or calls over an outbound TCP connection take that time, with one request as with many.',
    experiment:
      "'early acknowledgement' sends an empty line as soon as a response begins, which servers skip before a request. It carries the acknowledgement, and the gap vanishes. 'outbound TCP_NODELAY' disables Nagle's algorithm on the connections that the service opened.",
    formula: 'throughput = requests in flight / (time of the work + 40 ms)',
    remedy:
      'setNoDelay(true), the default of node:http since version 18; or one write for head and body.',
    detected: 'by experiment',
    note: 'Since Node.js 18 it occurs only with noDelay: false, with servers of node:net, or in a proxy.',
  },
  detectors: [detectNagleDelayedAck, detectOutboundDelayedAck],
  remedyExperiments: [
    // Nagle's algorithm still holds back data until the acknowledgement.
    { experiment: 'early-ack', isSubstitute: true },
    { experiment: 'outbound-nodelay' },
  ],
  mattersAtSustainedRate: true,
} satisfies Limit;

/** Predicts throughput in proportion to the connections, as a timer is not a queue. */
function predictInProportion(metrics: Metrics): Hypothesis['predictions'] {
  return predictByConnections(metrics, { low: 1.6, high: 2.1 }, { low: 0.84, high: 1.24 });
}

function detectNagleDelayedAck(metrics: Metrics): Detected {
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
      why: `the first and the last byte of a response are ${time(gapMs.count > 0 ? typical : 0)} apart`,
    };
  }
  // A busy loop works on other streams between the head of a response and its body.
  const busy = metrics.loop?.busy ?? 0;
  if (speaksHttp2(load.plan) && busy >= SATURATED) {
    return { limit, why: `the event loop is ${share(busy)} busy, with other streams meanwhile` };
  }
  const without = Math.max(0.2, metrics.responseMs - typical * part);
  const single = metrics.unloadedLatencyMs;
  const cpu = metrics.loop?.cpuMs ?? 0;
  const roof = cpu > 0 ? 1000 / cpu : Number.POSITIVE_INFINITY;
  const then = Math.min((metrics.maxConcurrency * 1000) / without, roof);
  return {
    limit,
    weight: computeWeight(metrics, typical, waited),
    sentence: `delayed acknowledgements: ${time(typical)} of the ${time(metrics.responseMs)} response time pass between the first and the last byte. Nagle's algorithm holds back the second part of a response until the client acknowledges the first, and the client delays that.`,
    arithmetic: [
      `${share(part)} of the responses arrive in parts, ${time(typical)} apart: the ${typical > 100 ? 200 : 40} ms timer of delayed acknowledgements`,
      `${count(metrics.maxConcurrency)} / ${time(metrics.latencyMs)} = ${rate((metrics.maxConcurrency * 1000) / metrics.latencyMs)} req/s, measured ${rate(metrics.throughput)}`,
      ...(single ? [`a single request takes ${time(single)} as well: it is not a queue`] : []),
    ],
    evidence: [
      { what: 'gap within a response, median', value: typical, unit: 'ms', source: 'load' },
      { what: 'responses in parts', value: part, unit: '1', source: 'load' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictInProportion(metrics),
      // The upper bound is generous: the loop's time per request falls when it serves more of them.
      'early-ack': {
        low: Math.max(1.3, (0.3 * then) / metrics.throughput),
        high: (metrics.maxConcurrency * 1000) / 0.05 / metrics.throughput,
      },
      ...predictSlowedByDelay(metrics),
    },
    remedy: {
      change:
        'setNoDelay(true) on the server (the default of node:http since version 18), or send head and body in one write: end(body), cork()',
      predictedThroughput: { low: then * 0.4, high: then },
      nextLimit: then === roof ? 'event-loop-cpu' : 'too-few-connections',
    },
  };
}

/**
 * Computes the weight of the hypothesis. Without the experiment, parts that the application sends late look the same.
 * At a sustained rate no experiment helps: there only unsent bytes that wait for a timer longer than 40 ms are
 * evidence.
 */
function computeWeight(metrics: Metrics, gapMs: number, waited: number): number {
  const { base, model, sockets, inFlight } = metrics;
  const server = sockets?.server ?? { unsent: 0, sockets: 0 };
  if (model === 'open' && sustainsRate(base)) {
    const isHeldBack = server.unsent * server.sockets >= 0.5 * inFlight * waited;
    return gapMs >= LONG_ACK_MS && isHeldBack ? 0.99 : 0.4;
  }
  const hasExperiment = base.load.plan.connection !== 'close' && !speaksHttp2(base.load.plan);
  return hasExperiment || server.unsent > 0.3 ? 0.99 : 0.6;
}

/** Whether the median call waits for the timer, with a single request as well, on a connection without TCP_NODELAY. */
function isWaitingForTimer(
  { single }: Metrics,
  { origin, answerP50Ms, usesNagle }: OutboundView,
): boolean {
  if (!usesNagle) return false;
  const alone = single?.inside?.outbound.find((one) => one.origin === origin)?.answerP50Ms;
  return Boolean(answerP50Ms && alone && isDelayedAck(answerP50Ms) && isDelayedAck(alone));
}

/**
 * Detects delayed acknowledgements on outbound connections: a call in two writes, the second of which is held back
 * until the first is acknowledged. A dependency that takes as long by itself looks the same, until TCP_NODELAY is set.
 */
function detectOutboundDelayedAck(metrics: Metrics): Detected {
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
    // Without an experiment the response time may have this length by coincidence.
    weight: model === 'open' ? 0.4 : 0.7,
    sentence: `delayed acknowledgements: a response of ${call.origin} takes ${time(call.answerP50Ms)}. Nagle's algorithm holds back the second part of each call until the first is acknowledged, and the other side delays that.`,
    arithmetic: [
      `${time(call.answerP50Ms)} with ${count(maxConcurrency)} requests in flight and with one: a timer, not a queue`,
      `${count(maxConcurrency)} / ${time(responseMs)} = ${rate((maxConcurrency * 1000) / responseMs)} req/s, measured ${rate(throughput)}`,
    ],
    evidence: [
      {
        what: 'response time of calls, median',
        value: call.answerP50Ms,
        unit: 'ms',
        source: 'probe',
      },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictInProportion(metrics),
      'outbound-nodelay': {
        low: Math.max(1.3, (0.3 * then) / throughput),
        high: (maxConcurrency * 1000) / 0.05 / throughput,
      },
    } satisfies Hypothesis['predictions'],
    remedy: {
      change: `setNoDelay(true) on the connections to ${call.origin}, or send each call in one write (cork())`,
      predictedThroughput: { low: then * 0.4, high: then },
      nextLimit: 'event-loop-cpu',
    },
  };
}
