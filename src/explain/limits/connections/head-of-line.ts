import { count, rate, share, time } from '../../../format/units.js';
import { speaksHttp2 } from '../../../load/http-version.js';
import { predictByConnections } from '../../hypotheses/connections/connection-count.js';
import { buildLoopEvidence, SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import { type Detected, scale, widen } from '../../hypotheses/hypothesis.js';
import { predictSlowedByDelay } from '../../hypotheses/outbound/calls.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const HEAD_OF_LINE = {
  id: 'head-of-line',
  group: 'connections and TCP',
  text: {
    title: 'Head-of-line blocking',
    what: 'Pipelined requests share a connection, and each response waits for all before it.',
    shows: 'With pipelining a request takes much longer than alone, and the loop is not busy.',
    experiment:
      "'no pipelining' sends as many requests on separate connections: no response waits for another.",
    formula: 'gain = response time / response time alone',
    remedy: 'More connections without pipelining, or HTTP/2.',
    detected: 'by experiment',
  },
  needsOwnLoad: 'whether clients pipeline their requests is not seen',
  detectors: [detectHeadOfLine],
  remedyExperiments: [{ experiment: 'no-pipelining' }],
  isWhollyTried: true,
} satisfies Limit;

function detectHeadOfLine(metrics: Metrics): Detected {
  const limit = 'head-of-line';
  const { plan, latencyMs } = metrics.base.load;
  if (speaksHttp2(plan)) {
    return { limit, why: 'streams of HTTP/2 do not wait for each other' };
  }
  if (plan.pipelining < 2) return { limit, why: 'one request at a time on each connection' };
  if (metrics.loop && metrics.loop.busy >= SATURATED) {
    return { limit, why: `the event loop is ${share(metrics.loop.busy)} busy` };
  }
  const alone = metrics.unloadedLatencyMs;
  if (!alone || metrics.responseMs < 1.3 * alone) {
    return { limit, why: `a request takes ${time(metrics.responseMs)}, ${time(alone)} alone` };
  }
  return {
    limit,
    weight: 0.9,
    sentence: `head-of-line blocking: ${plan.pipelining} pipelined requests share a connection, and each response waits for the slowest before it: ${time(metrics.responseMs)} instead of ${time(alone)}.`,
    arithmetic: [
      `${count(metrics.maxConcurrency)} in flight / ${time(metrics.responseMs)} = ${rate((metrics.maxConcurrency * 1000) / metrics.responseMs)} req/s; at ${time(alone)} each it would be ${rate((metrics.maxConcurrency * 1000) / alone)} req/s`,
    ],
    evidence: [
      { what: 'response time, median', value: latencyMs.p50 ?? 0, unit: 'ms', source: 'load' },
      { what: 'response time of a single request', value: alone, unit: 'ms', source: 'load' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      // Other requests share a connection when the number of connections changes.
      ...predictByConnections(metrics, { low: 1.5, high: 2.7 }, { low: 0.74, high: 1.33 }),
      'no-pipelining': widen(metrics.responseMs / alone, 0.3),
      ...predictSlowedByDelay(metrics),
    },
    remedy: {
      change: `${count(metrics.maxConcurrency)} connections without pipelining, or HTTP/2`,
      predictedThroughput: scale(widen(metrics.responseMs / alone, 0.25), metrics.throughput),
      nextLimit: 'too-few-connections',
    },
  };
}
