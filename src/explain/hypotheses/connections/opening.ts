import { count, rate, share, time } from '../../../format/units.js';
import type { Range } from '../../../statistics/types.js';
import type { LimitId } from '../../limits/ids.js';
import { computeOpeningShare } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { OutboundView } from '../../observe/types.js';
import { predictBusyLoop } from '../event-loop/loop.js';
import { buildLoopEvidence, SATURATED } from '../event-loop/loop-capacity.js';
import { computeGain, type Detector, scale, widen } from '../hypothesis.js';

/** What accepting and closing a connection costs a loop in Node, ms. */
const CONNECTION_MS = { low: 0.02, high: 0.15 };

export const detectConnectionChurn: Detector = (metrics) => {
  const limit = 'connection-churn';
  const { plan, connections, requests } = metrics.base.load;
  const completed = Math.max(1, requests.ok + requests.statusErrors);
  const each = connections.opened / completed;
  if (each < 0.5) return { limit, why: `${each.toFixed(2)} connections per request` };
  if (connections.tlsFull / completed > 0.5) {
    return { limit, why: 'the handshakes of TLS weigh more: see tls-handshake' };
  }
  const byClient = plan.connection === 'close';
  const cpuMs = metrics.loop?.cpuMs ?? 0;
  const part = cpuMs > 0 ? Math.min(0.95, CONNECTION_MS.high / cpuMs) : 0.3;
  const least = cpuMs > 0 ? Math.min(0.5, CONNECTION_MS.low / cpuMs) : 0.05;
  const connectMs = metrics.base.load.connectMs.mean ?? 0;
  const waits = connectMs / Math.max(0.01, metrics.responseMs + connectMs);
  const busy = metrics.loop !== null && metrics.loop.busy >= SATURATED;
  if (!busy && waits < 0.15) {
    return {
      limit,
      why: `a connection for each request, but ${time(connectMs)} of ${time(metrics.responseMs)} go to it`,
    };
  }
  if (busy && part < 0.12)
    return { limit, why: `a connection costs little beside ${time(cpuMs)} per request` };
  const gain = busy
    ? { low: 1 / (1 - least), high: 1 / (1 - part) }
    : widen((metrics.responseMs + connectMs) / metrics.responseMs, 0.25);
  return {
    limit,
    ...(busy && { causeOf: 'event-loop-cpu' as const }),
    weight: 0.93,
    sentence: `connections: each request has one of its own${byClient ? '' : ', as the server ends them'}; ${busy ? `to open, accept and close it takes part of ${time(cpuMs)} per request` : `to open it takes ${time(connectMs)} of ${time(metrics.responseMs + connectMs)}`}.`,
    arithmetic: [
      `${count(connections.opened)} connections for ${count(completed)} requests`,
      `a connection costs the loop ${time(CONNECTION_MS.low)} to ${time(CONNECTION_MS.high)} of ${time(cpuMs)}`,
    ],
    evidence: [
      { what: 'connections per request', value: each, unit: 'per request', source: 'load' },
      { what: 'time to connect', value: connectMs, unit: 'ms', source: 'load' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unknown',
    predictions: {
      ...(busy && predictBusyLoop(metrics)),
      ...(byClient && { 'keep-alive': gain }),
      // A server may end connections on some paths, and keep them on others.
      'unknown path': { low: 0.85, high: byClient ? 1 / Math.max(0.05, least) : 1000 },
    },
    remedy: {
      change: byClient
        ? 'keep-alive: clients (proxies, agents) that use a connection again'
        : 'let the server keep connections: no Connection: close, a longer keepAliveTimeout, no maxRequestsPerSocket',
      predictedThroughput: scale(gain, metrics.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** CPU time of a full handshake on the server, ms: ECDSA P-256 to RSA 2048 and beyond. */
const HANDSHAKE_MS = { low: 0.15, high: 3 };

export const detectTlsHandshake: Detector = (metrics) => {
  const limit = 'tls-handshake';
  const { plan, connections, requests, tlsMs } = metrics.base.load;
  const completed = Math.max(1, requests.ok + requests.statusErrors);
  const each = (connections.tlsFull + connections.tlsResumed) / completed;
  if (plan.tls === null) return { limit, why: 'no TLS' };
  if (each < 0.3) return { limit, why: `${each.toFixed(2)} handshakes per request` };
  const cpuMs = metrics.loop?.cpuMs ?? 1;
  const busy = metrics.loop !== null && metrics.loop.busy >= SATURATED;
  const opening = computeOpeningShare(metrics);
  if (!busy && opening < 0.15) {
    return { limit, why: `${share(opening)} of the time of a request goes to its handshake` };
  }
  if (busy && (each * HANDSHAKE_MS.high) / cpuMs < 0.12) {
    return { limit, why: `a handshake is little beside ${time(cpuMs)} of CPU per request` };
  }
  const part = {
    low: Math.min(0.6, (each * HANDSHAKE_MS.low) / cpuMs),
    // What is left of a request may be a hundredth of it.
    high: Math.min(0.99, (each * HANDSHAKE_MS.high) / cpuMs),
  };
  const gain = busy
    ? { low: 1 / (1 - part.low * 0.8), high: 1 / (1 - part.high) }
    : widen(1 / (1 - opening), 0.25);
  return {
    limit,
    ...(busy && { causeOf: 'event-loop-cpu' as const }),
    weight: 0.96,
    sentence: `handshakes of TLS: ${share(each)} of the requests have one; they are part of ${time(cpuMs)} of CPU per request.`,
    arithmetic: [
      `${count(connections.tlsFull)} full and ${count(connections.tlsResumed)} resumed handshakes for ${count(completed)} requests, ${time(tlsMs.mean ?? 0)} each`,
    ],
    evidence: [
      { what: 'handshakes per request', value: each, unit: 'per request', source: 'load' },
      { what: 'time of a handshake', value: tlsMs.mean ?? 0, unit: 'ms', source: 'load' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unknown',
    predictions: {
      ...(busy && predictBusyLoop(metrics)),
      'tls kept': gain,
      'unknown path': { low: 0.85, high: 1 / part.low },
    },
    remedy: {
      change: 'keep connections, resume sessions (tickets), or an ECDSA certificate instead of RSA',
      predictedThroughput: scale(gain, metrics.throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};

export const detectAcceptRate: Detector = (metrics) => {
  const limit = 'accept-rate';
  const { load, inside } = metrics.base;
  const seconds = load.durationMs / 1000;
  const opened = load.connections.opened / seconds;
  if (!inside?.loops || !metrics.loop) return null;
  if (load.connections.opened < 3 * load.plan.connections) {
    return { limit, why: 'connections are kept' };
  }
  const perLoop = opened / inside.loops;
  const queue = metrics.sockets?.listen?.waiting ?? 0;
  if (perLoop < 0.7 || perLoop > 1.5 || queue < 2 || metrics.loop.busy < SATURATED) {
    return {
      limit,
      why: `${rate(opened)} connections a second, ${rate(inside.loops)} turns of the loop`,
    };
  }
  return {
    limit,
    causeOf: 'event-loop-cpu',
    weight: 0.9,
    sentence: `one new connection per turn of the loop: ${rate(opened)} a second in ${rate(inside.loops)} turns; ${count(queue)} wait to be accepted.`,
    arithmetic: [
      `${rate(inside.loops)} turns a second x 1 = ${rate(inside.loops)} connections a second at most`,
    ],
    evidence: [
      { what: 'turns of the loop', value: inside.loops, unit: '1/s', source: 'probe' },
      { what: 'connections opened', value: opened, unit: '1/s', source: 'load' },
      { what: 'waiting to be accepted', value: queue, unit: 'connections', source: 'sockets' },
    ],
    unlisted: 'unknown',
    predictions: {
      ...predictBusyLoop(metrics),
      ...(load.plan.connection === 'close' && { 'keep-alive': { low: 1.05, high: 100 } }),
    },
    remedy: {
      change: 'keep-alive, shorter turns of the loop, or more processes',
      predictedThroughput: null,
      nextLimit: 'event-loop-cpu',
    },
  };
};

/** What a connection that the service opens costs its loop, ms: of TCP, and with a full handshake of TLS and its trust store. */
const OPENING_MS = { tcp: { low: 0.05, high: 0.3 }, tls: { low: 0.3, high: 4 } };
/** Part of the loop's time from which on it matters. */
const MIN_LOOP_SHARE = 0.12;

/** The calls that have a connection each, where most requests make some. */
function findUnpooledCall({ base, throughput }: Metrics): OutboundView | null {
  const calls = base.inside?.outbound ?? [];
  const each = calls.filter(
    (call) => call.opened >= 0.5 * call.rate && call.rate >= 0.3 * throughput,
  );
  return each.reduce<OutboundView | null>(
    (most, call) => (most && most.opened >= call.opened ? most : call),
    null,
  );
}

/** Connections that the service opens, one for each call: its loop is busy with that, and with their handshakes. */
export const detectOutboundChurn: Detector = (metrics) => {
  const { base, loop, throughput, loopTime } = metrics;
  const call = findUnpooledCall(metrics);
  if (!call || !loop || loop.busy < SATURATED) return null;
  const isSecure = call.origin.startsWith('https:');
  const limit: LimitId = isSecure ? 'tls-handshake' : 'connection-churn';
  const each = call.opened / throughput;
  const cost = OPENING_MS[isSecure ? 'tls' : 'tcp'];
  const estimate = {
    low: Math.min(0.5, (each * cost.low) / loop.busyMs),
    high: Math.min(0.95, (each * cost.high) / loop.busyMs),
  };
  // Of a server that speaks TLS itself the profile shows both.
  const connecting = base.load.plan.tls === null ? (loopTime?.connecting ?? null) : null;
  const part = connecting ?? estimate.high;
  if (part < MIN_LOOP_SHARE) return null;
  const gain: Range =
    connecting !== null
      ? computeGain(part, 0.8, 1.2)
      : { low: computeGain(estimate.low, 1, 1).low, high: computeGain(estimate.high, 1, 1).high };
  return {
    limit,
    causeOf: 'event-loop-cpu',
    ...(connecting !== null && { loopShare: part }),
    // A small part of a busy loop is no cause of it, and without a profile nothing is known.
    weight: connecting === null ? 0.5 : Math.min(0.96, 0.3 + 1.2 * part),
    sentence: `connections to ${call.origin}: each call opens one of its own${isSecure ? ', with a handshake of TLS' : ''}${connecting === null ? '' : `; that takes ${share(part)} of the loop's time`}.`,
    arithmetic: [
      `${rate(call.opened)} connections a second for ${rate(call.rate)} calls: ${each.toFixed(1)} for each request, which takes the loop ${time(loop.busyMs)}`,
    ],
    evidence: [
      {
        what: 'connections opened per call',
        value: call.opened / call.rate,
        unit: '1',
        source: 'probe',
      },
      ...(connecting !== null
        ? [{ what: 'opening connections', value: part, unit: '1', source: 'profile' as const }]
        : []),
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unknown',
    predictions: predictBusyLoop(metrics),
    remedy: {
      change:
        'one agent or client for all calls that keeps its connections (new Agent({ keepAlive: true }) once, not for each call; fetch keeps them by itself), and answers that are read to their end',
      predictedThroughput: scale(gain, throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};
