import { rate, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { estimateWarmLimit } from '../../hypotheses/event-loop/loop-capacity.js';
import type { Detected } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const LISTEN_BACKLOG = {
  id: 'listen-backlog',
  group: 'connections and TCP',
  text: {
    title: 'The accept queue is full',
    what: 'Connections that the server has not accepted yet wait in a queue. When it is full the system drops new ones, and clients retry after a second.',
    shows:
      "The system counts overflows of listening sockets or the server's queue is full, and connecting takes a second or more.",
    experiment: "'keep-alive' keeps connections open: no more have to be accepted.",
    formula: 'overflow if new connections per second x longest block of the loop > backlog',
    remedy:
      'A larger backlog and net.core.somaxconn, keep-alive, or an event loop that is not blocked.',
    detected: 'by experiment',
    note: 'By its signature if the client keeps its connections already.',
  },
  detectors: [detectListenBacklog],
  isSevere: true,
  mattersAtSustainedRate: true,
} satisfies Limit;

function detectListenBacklog(metrics: Metrics): Detected {
  const limit = 'listen-backlog';
  const overflows = metrics.base.outside?.network.listenOverflows ?? 0;
  const { connectMs, connections, errors } = metrics.base.load;
  const listen = metrics.sockets?.listen;
  const late = (connectMs.p99 ?? 0) > 900 || errors.some(({ kind }) => kind === 'connect-timeout');
  const full = listen?.backlog ? listen.waiting >= listen.backlog : false;
  if (!(overflows > 0 && (late || full)) && !(late && full)) {
    return {
      limit,
      why: `connecting takes ${time(connectMs.p99 ?? 0)} at p99, the accept queue overflowed ${overflows === 0 ? 'never' : `${rate(overflows)} times per second`}`,
    };
  }
  return {
    limit,
    weight: 0.97,
    sentence: `the accept queue is full${listen?.backlog ? ` (backlog ${listen.backlog})` : ''}: the system drops new connections, and clients retry after a second.`,
    arithmetic: [
      `${rate(overflows)} connection attempts per second are dropped${metrics.isWatched ? '' : `; connecting takes ${time(connectMs.p50 ?? 0)} (median), ${time(connectMs.p99 ?? 0)} (p99)`}; retries follow after 1, 3 and 7 s`,
    ],
    evidence: [
      { what: 'connection attempts dropped', value: overflows, unit: '1/s', source: 'proc' },
      ...(metrics.isWatched
        ? []
        : [
            { what: 'time to connect, p99', value: connectMs.p99 ?? 0, unit: 'ms', source: 'load' },
          ]),
    ],
    predictions: {
      ...(metrics.base.load.plan.connection === 'close' && {
        'keep-alive': { low: 1.5, high: 1000 },
      }),
    },
    remedy: {
      change:
        'a larger backlog (listen(port, host, backlog), net.core.somaxconn), keep-alive, or shorter blocks of the event loop',
      predictedThroughput: connections.opened > 0 ? predictWithoutRetries(metrics) : null,
      nextLimit: 'accept-rate',
    },
  };
}

/** Predicts throughput without retried connection attempts, from the medians of connect time and response time. */
function predictWithoutRetries(metrics: Metrics): Interval {
  const { base, maxConcurrency, throughput, responseMs } = metrics;
  const { connectMs, latencyMs } = base.load;
  const connect = connectMs.p50 ?? 0;
  const best = connect + (latencyMs.p50 ?? responseMs);
  const each = connect + Math.max(responseMs, latencyMs.p50 ?? 0);
  // The medians include the wait behind a full queue: the loop may serve more.
  const alone = metrics.unloadedLatencyMs ?? best;
  const byLoop = Math.min(
    estimateWarmLimit(metrics)?.high ?? 0,
    (maxConcurrency * 1000) / Math.max(0.1, alone),
  );
  return {
    low: Math.max(throughput, (maxConcurrency * 1000) / Math.max(0.1, each)),
    high: Math.max(throughput, byLoop, (maxConcurrency * 1000) / Math.max(0.1, best)),
  };
}
