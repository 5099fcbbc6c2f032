import { count, rate, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import type { Metrics } from '../../metrics/types.js';
import { estimateWarmLimit } from '../event-loop/loop-capacity.js';
import type { Detector } from '../hypothesis.js';

export const detectFdLimit: Detector = (metrics) => {
  const limit = 'fd-limit';
  const { load, outside } = metrics.base;
  const own = load.errors.find(({ kind }) => kind === 'fd-limit');
  if (own) {
    return {
      limit,
      weight: 1,
      sentence: `the load generator has reached its limit of open files: ${count(own.count)} connections failed.`,
      arithmetic: ['see ulimit -n on the machine that makes the load'],
      evidence: [
        {
          what: 'connections that the limit prevented',
          value: own.count,
          unit: 'connections',
          source: 'load',
        },
      ],
      predictions: {},
      remedy: {
        change: 'a higher ulimit -n for the load generator',
        predictedThroughput: null,
        nextLimit: null,
      },
    };
  }
  const full = outside?.processes.find(
    ({ openFiles, fileLimit }) =>
      openFiles !== null && fileLimit !== null && openFiles >= fileLimit - 3,
  );
  if (!full?.fileLimit) {
    const [most] = [...(outside?.processes ?? [])].sort(
      (a, b) => (b.openFiles ?? 0) - (a.openFiles ?? 0),
    );
    return {
      limit,
      why: most?.openFiles
        ? `${most.openFiles} of ${most.fileLimit ?? '?'} files open`
        : 'no connection failed because of it',
    };
  }
  return {
    limit,
    weight: 1,
    sentence: `open files: the server has ${count(full.openFiles ?? 0)} open, of at most ${count(full.fileLimit)}; it drops further connections silently.`,
    arithmetic: [
      `${count(full.fileLimit)} - files of its own = about ${count(Math.max(0, full.fileLimit - 20))} connections at once; the load has ${count(load.plan.connections)}`,
    ],
    evidence: [{ what: 'open files', value: full.openFiles ?? 0, unit: 'files', source: 'proc' }],
    predictions: {},
    remedy: {
      change: `a higher limit (ulimit -n, LimitNOFILE): at least ${count(load.plan.connections + 50)}`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
};

export const detectListenBacklog: Detector = (metrics) => {
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
      `${rate(overflows)} connection attempts per second are dropped; connecting takes ${time(connectMs.p50 ?? 0)} (median), ${time(connectMs.p99 ?? 0)} (p99); retries follow after 1, 3 and 7 s`,
    ],
    evidence: [
      { what: 'connection attempts dropped', value: overflows, unit: '1/s', source: 'proc' },
      { what: 'time to connect, p99', value: connectMs.p99 ?? 0, unit: 'ms', source: 'load' },
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
};

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
