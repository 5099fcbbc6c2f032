import { count, time } from '../../../format/units.js';
import { detectOutboundOpening } from '../../hypotheses/connections/outbound-opening.js';
import { predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import { buildLoopEvidence, SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import { type Detected, scale, widen } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const CONNECTION_CHURN = {
  id: 'connection-churn',
  group: 'connections and TCP',
  text: {
    title: 'A connection for each request',
    what: 'Clients, or the service for its outbound calls, do not reuse connections. Opening, accepting and closing a connection costs more than a small request.',
    shows:
      'About as many connections are opened as requests are answered, or as outbound calls are made while the loop is busy.',
    experiment: "'keep-alive' keeps connections open: throughput rises.",
    formula: 'cost of a connection = 1 / throughput without keep-alive - 1 / throughput with it',
    remedy: 'Keep-alive on both sides: agents, proxies, keepAliveTimeout.',
    detected: 'by experiment',
    note: 'By its signature if the server closes the connections, as the client cannot keep them then, and for outbound calls: the profile measures the time that opening connections takes.',
  },
  detectors: [
    (metrics) => detectOutboundOpening(metrics, 'connection-churn'),
    detectConnectionChurn,
  ],
  remedyExperiments: [{ experiment: 'keep-alive' }],
  isWhollyTried: true,
  connectionCost: { experiments: ['keep-alive'], words: 'opening them' },
} satisfies Limit;

/** Time of the loop to accept and close a connection in Node.js, ms. */
const CONNECTION_MS = { low: 0.02, high: 0.15 };

function detectConnectionChurn(metrics: Metrics): Detected {
  const limit = 'connection-churn';
  const { plan, connections, requests } = metrics.base.load;
  const completed = Math.max(1, requests.ok + requests.statusErrors);
  const each = connections.opened / completed;
  if (each < 0.5) return { limit, why: `${each.toFixed(2)} connections per request` };
  if (connections.tlsFull / completed > 0.5) {
    return { limit, why: 'TLS handshakes cost more: see tls-handshake' };
  }
  const byClient = plan.connection === 'close';
  const cpuMs = metrics.loop?.cpuMs ?? 0;
  const part = cpuMs > 0 ? Math.min(0.95, CONNECTION_MS.high / cpuMs) : 0.3;
  const minShare = cpuMs > 0 ? Math.min(0.5, CONNECTION_MS.low / cpuMs) : 0.05;
  const connectMs = metrics.base.load.connectMs.mean ?? 0;
  const waits = connectMs / Math.max(0.01, metrics.responseMs + connectMs);
  const busy = metrics.loop !== null && metrics.loop.busy >= SATURATED;
  if (!busy && waits < 0.15) {
    return {
      limit,
      why: `each request has its own connection, but opening it takes only ${time(connectMs)} of ${time(metrics.responseMs)}`,
    };
  }
  if (busy && part < 0.12)
    return { limit, why: `a connection costs little compared with ${time(cpuMs)} per request` };
  const gain = busy
    ? { low: 1 / (1 - minShare), high: 1 / (1 - part) }
    : widen((metrics.responseMs + connectMs) / metrics.responseMs, 0.25);
  return {
    limit,
    ...(busy && { causeOf: 'event-loop-cpu' as const }),
    weight: 0.93,
    sentence: `no keep-alive: each request has its own connection${byClient ? '' : ', as the server closes them'}; ${busy ? `opening, accepting and closing it takes a part of the ${time(cpuMs)} per request` : `opening it takes ${time(connectMs)} of ${time(metrics.responseMs + connectMs)}`}.`,
    arithmetic: [
      `${count(connections.opened)} connections for ${count(completed)} requests`,
      `a connection costs the loop ${time(CONNECTION_MS.low)} to ${time(CONNECTION_MS.high)} of ${time(cpuMs)}`,
    ],
    evidence: [
      { what: 'connections per request', value: each, unit: 'per request', source: 'load' },
      { what: 'time to connect', value: connectMs, unit: 'ms', source: 'load' },
      ...buildLoopEvidence(metrics),
    ],
    predictions: {
      ...(busy && predictBusyLoop(metrics)),
      ...(byClient && { 'keep-alive': gain }),
      // A server may close connections on some paths and keep them on others.
      'not-found-path': { low: 0.85, high: byClient ? 1 / Math.max(0.05, minShare) : 1000 },
    },
    remedy: {
      change: byClient
        ? 'keep-alive: clients (proxies, agents) that reuse connections'
        : 'keep-alive on the server: no Connection: close, a longer keepAliveTimeout, no maxRequestsPerSocket',
      predictedThroughput: scale(gain, metrics.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
}
