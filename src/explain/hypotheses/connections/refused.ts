import { count, rate, time } from '../../../format/units.js';
import type { Range } from '../../../statistics/types.js';
import type { Metrics } from '../../metrics/types.js';
import type { Detector } from '../hypothesis.js';

export const detectFdLimit: Detector = (metrics) => {
  const limit = 'fd-limit';
  const { load, outside } = metrics.base;
  const own = load.errors.find(({ kind }) => kind === 'fd-limit');
  if (own) {
    return {
      limit,
      weight: 1,
      sentence: `this process may open no more files: ${count(own.count)} connections could not be made.`,
      arithmetic: ['see ulimit -n, where the load is made'],
      evidence: [
        {
          what: 'connections refused by the limit',
          value: own.count,
          unit: 'connections',
          source: 'load',
        },
      ],
      unlisted: 'unknown',
      predictions: {},
      remedy: {
        change: 'ulimit -n higher, for the generator',
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
        : 'no connection failed for it',
    };
  }
  return {
    limit,
    weight: 1,
    sentence: `open files: the server has ${count(full.openFiles ?? 0)} of the ${count(full.fileLimit)} that it may have; further connections are dropped without a word.`,
    arithmetic: [
      `${count(full.fileLimit)} - those of its own = about ${count(Math.max(0, full.fileLimit - 20))} connections at once; asked for ${count(load.plan.connections)}`,
    ],
    evidence: [{ what: 'open files', value: full.openFiles ?? 0, unit: 'files', source: 'proc' }],
    unlisted: 'unknown',
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
      why: `connects take ${time(connectMs.p99 ?? 0)} at p99, the queue of the listening socket overflowed ${overflows === 0 ? 'never' : `${rate(overflows)} times a second`}`,
    };
  }
  return {
    limit,
    weight: 0.97,
    sentence: `the queue of connections to be accepted is full${listen?.backlog ? ` (${listen.backlog})` : ''}: connects are dropped and repeated after a second.`,
    arithmetic: [
      `${rate(overflows)} connects a second are dropped; a connect takes ${time(connectMs.p50 ?? 0)} (median), ${time(connectMs.p99 ?? 0)} (p99), its retries come after 1, 3, 7 s`,
    ],
    evidence: [
      { what: 'connects dropped', value: overflows, unit: '1/s', source: 'proc' },
      { what: 'time to connect, p99', value: connectMs.p99 ?? 0, unit: 'ms', source: 'load' },
    ],
    unlisted: 'unknown',
    predictions: {
      ...(metrics.base.load.plan.connection === 'close' && {
        'keep-alive': { low: 1.5, high: 1000 },
      }),
    },
    remedy: {
      change:
        'a larger backlog (listen(port, host, backlog), net.core.somaxconn), keep-alive, or a loop that is not blocked for so long',
      predictedThroughput: connections.opened > 0 ? predictWithoutRetries(metrics) : null,
      nextLimit: 'accept-rate',
    },
  };
};

/** Throughput if no connect has to be repeated: each takes what the median does, and the request at best what its median does. */
function predictWithoutRetries({ base, maxConcurrency, throughput, responseMs }: Metrics): Range {
  const { connectMs, latencyMs } = base.load;
  const connect = connectMs.p50 ?? 0;
  const best = connect + (latencyMs.p50 ?? responseMs);
  const each = connect + Math.max(responseMs, latencyMs.p50 ?? 0);
  return {
    low: Math.max(throughput, (maxConcurrency * 1000) / Math.max(0.1, each)),
    high: Math.max(throughput, (maxConcurrency * 1000) / Math.max(0.1, best)),
  };
}
