import { count, plural, rate, share, time } from '../../../format/units.js';
import { speaksHttp2 } from '../../../load/http-version.js';
import { findStreamLimit } from '../../../load/streams.js';
import {
  predictByConnections,
  predictMoreConnections,
} from '../../hypotheses/connections/connection-count.js';
import {
  buildLoopEvidence,
  computeInjectedMs,
  SATURATED,
} from '../../hypotheses/event-loop/loop-capacity.js';
import { type Detected, scale, widen } from '../../hypotheses/hypothesis.js';
import { predictSlowedByDelay } from '../../hypotheses/outbound/calls.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const MAX_CONCURRENT_STREAMS = {
  id: 'max-concurrent-streams',
  group: 'connections and TCP',
  text: {
    title: 'The server allows too few streams',
    what: 'With HTTP/2 the server says how many streams a connection may have at a time (SETTINGS_MAX_CONCURRENT_STREAMS). Requests beyond that wait in the client.',
    shows:
      'The setting is smaller than the number of streams that the load asks for. The event loop is far from busy, and a request takes hardly longer than alone once it is sent.',
    experiment:
      "'connections x2' allows twice as many streams: twice the throughput at the same response time, as far as the event loop allows.",
    formula: 'throughput = connections x MAX_CONCURRENT_STREAMS / response time',
    remedy:
      'A larger limit in the server (settings.maxConcurrentStreams of node:http2, maxConcurrentStreams of millrace/http), or more connections.',
    detected: 'by experiment',
  },
  needsOwnLoad: 'how many streams clients want is not seen',
  detectors: [detectMaxConcurrentStreams],
} satisfies Limit;

/** Minimum ratio of the response time under load to that of a single request which counts as queueing in the server. */
const MIN_QUEUED_STRETCH = 2;

function detectMaxConcurrentStreams(metrics: Metrics): Detected {
  const limit = 'max-concurrent-streams';
  const { loop, maxConcurrency, responseMs, unloadedLatencyMs, throughput } = metrics;
  const { plan } = metrics.base.load;
  const most = findStreamLimit(metrics.base.load);
  if (!speaksHttp2(plan)) return { limit, why: 'the load speaks HTTP/1.1' };
  if (most === null) return { limit, why: 'the server allows as many streams as the load needs' };
  if (metrics.model === 'open') {
    return { limit, why: 'the load has a rate: it does not wait for responses' };
  }
  if (loop && loop.busy >= SATURATED) {
    return { limit, why: `the event loop is ${share(loop.busy)} busy` };
  }
  const stretch = unloadedLatencyMs ? responseMs / unloadedLatencyMs : 1;
  if (stretch > MIN_QUEUED_STRETCH) {
    return {
      limit,
      why: `a request takes ${time(responseMs)} with ${plural(Math.max(1, maxConcurrency - 1), 'other')} in flight, ${time(unloadedLatencyMs)} alone: it queues in the server`,
    };
  }
  const factor = plan.pipelining / most;
  const connections = Math.ceil(plan.connections * factor);
  return {
    limit,
    weight: 0.95,
    sentence: `too few streams: the server allows ${plural(most, 'stream')} per connection, the load has ${count(plan.pipelining)}: of ${count(plan.connections * plan.pipelining)} requests ${count(maxConcurrency)} can be in flight at once, and each takes ${time(responseMs)}.`,
    arithmetic: [
      `${plural(plan.connections, 'connection')} x ${plural(most, 'stream')} / ${time(responseMs)} = ${rate((maxConcurrency * 1000) / responseMs)} req/s, measured ${rate(throughput)}`,
    ],
    evidence: [
      {
        what: 'streams that the server allows per connection',
        value: most,
        unit: '',
        source: 'load',
      },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictByConnections(metrics, predictMoreConnections(metrics, 2), {
        low: 0.94,
        high: 1.12,
      }),
      ...(loop && {
        'cpu-injection': widen(responseMs / (responseMs + computeInjectedMs(metrics)), 0.06),
      }),
      ...predictSlowedByDelay(metrics),
    },
    remedy: {
      change: `at least ${plural(plan.pipelining, 'stream')} in the server's SETTINGS_MAX_CONCURRENT_STREAMS (settings.maxConcurrentStreams of node:http2, maxConcurrentStreams of millrace/http), or ${count(connections)} connections`,
      predictedThroughput: scale(predictMoreConnections(metrics, factor), throughput),
      nextLimit: 'too-few-connections',
      settings: { connections },
    },
  };
}
