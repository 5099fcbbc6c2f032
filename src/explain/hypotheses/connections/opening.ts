import { count, rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import type { LimitId } from '../../limit-ids.js';
import { computeOpeningShare } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { OutboundView } from '../../observe/types.js';
import { predictBusyLoop } from '../event-loop/loop.js';
import { buildLoopEvidence, SATURATED } from '../event-loop/loop-capacity.js';
import {
  computeDominantGain,
  computeGain,
  type Detector,
  MIN_DOMINANT_SHARE,
  scale,
  widen,
} from '../hypothesis.js';

/** Time of the loop to accept and close a connection in Node.js, ms. */
const CONNECTION_MS = { low: 0.02, high: 0.15 };

export const detectConnectionChurn: Detector = (metrics) => {
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
};

/** CPU time of a full TLS handshake on the server in ms: from ECDSA P-256 to RSA with 2048 bits on a slow core. */
const HANDSHAKE_MS = { low: 0.15, high: 3 };

/** Computes the maximum CPU time of a full TLS handshake, in ms: that of an RSA signature grows with the cube of its bits. */
function computeMaxHandshakeMs({ sample }: Metrics): number {
  return HANDSHAKE_MS.high * Math.max(1, (sample?.rsaBits ?? 0) / 2048) ** 3;
}

export const detectTlsHandshake: Detector = (metrics) => {
  const limit = 'tls-handshake';
  const { plan, connections, requests, tlsMs } = metrics.base.load;
  const completed = Math.max(1, requests.ok + requests.statusErrors);
  const each = (connections.tlsFull + connections.tlsResumed) / completed;
  const isResumed = connections.tlsResumed > connections.tlsFull;
  if (plan.handshake === null) return { limit, why: 'no TLS' };
  if (each < 0.3) return { limit, why: `${each.toFixed(2)} handshakes per request` };
  const cpuMs = metrics.loop?.cpuMs ?? 1;
  const busy = metrics.loop !== null && metrics.loop.busy >= SATURATED;
  const opening = computeOpeningShare(metrics);
  if (!busy && opening < 0.15) {
    return { limit, why: `the handshake takes ${share(opening)} of a request's time` };
  }
  const maxMs = computeMaxHandshakeMs(metrics);
  if (busy && (each * maxMs) / cpuMs < 0.12) {
    return {
      limit,
      why: `a handshake costs little compared with ${time(cpuMs)} of CPU per request`,
    };
  }
  const part = {
    low: Math.min(0.6, (each * HANDSHAKE_MS.low) / cpuMs),
    // The rest of a request may be as little as a hundredth of its time.
    high: Math.min(0.99, (each * maxMs) / cpuMs),
  };
  const gain = busy
    ? { low: 1 / (1 - part.low * 0.8), high: 1 / (1 - part.high) }
    : widen(1 / (1 - opening), 0.25);
  return {
    limit,
    ...(busy && { causeOf: 'event-loop-cpu' as const }),
    weight: 0.96,
    sentence: `TLS handshakes: ${share(each)} of the requests have one, which is a part of the ${time(cpuMs)} of CPU per request.`,
    arithmetic: [
      `${count(connections.tlsFull)} full and ${count(connections.tlsResumed)} resumed handshakes for ${count(completed)} requests, ${time(tlsMs.mean ?? 0)} each`,
    ],
    evidence: [
      { what: 'handshakes per request', value: each, unit: 'per request', source: 'load' },
      { what: 'time of a handshake', value: tlsMs.mean ?? 0, unit: 'ms', source: 'load' },
      ...buildLoopEvidence(metrics),
    ],
    predictions: {
      ...(busy && predictBusyLoop(metrics)),
      'tls-keep-alive': gain,
      // How much of a handshake the signature is depends on the certificate's key. Resumed ones have none already.
      'tls-resumption': isResumed ? { low: 0.85, high: 1.15 } : { low: 1.02, high: gain.high },
      'not-found-path': { low: 0.85, high: 1 / part.low },
    },
    remedy: {
      change: 'keep-alive, session resumption (tickets), or an ECDSA certificate instead of RSA',
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
    return { limit, why: 'connections are kept open' };
  }
  const perLoop = opened / inside.loops;
  const queue = metrics.sockets?.listen?.waiting ?? 0;
  if (perLoop < 0.7 || perLoop > 1.5 || queue < 2 || metrics.loop.busy < SATURATED) {
    return {
      limit,
      why: `${rate(opened)} new connections per second, ${rate(inside.loops)} turns of the loop`,
    };
  }
  return {
    limit,
    causeOf: 'event-loop-cpu',
    // A turn that is long because of handshakes is no reason of its own.
    weight: load.connections.tlsFull > 0.5 * load.connections.opened ? 0.6 : 0.9,
    sentence: `the event loop accepts one connection per turn: ${rate(opened)} per second in ${rate(inside.loops)} turns; ${count(queue)} wait to be accepted.`,
    arithmetic: [
      `${rate(inside.loops)} turns per second x 1 = at most ${rate(inside.loops)} connections per second`,
    ],
    evidence: [
      { what: 'turns of the loop', value: inside.loops, unit: '1/s', source: 'probe' },
      { what: 'connections opened', value: opened, unit: '1/s', source: 'load' },
      { what: 'waiting to be accepted', value: queue, unit: 'connections', source: 'sockets' },
    ],
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

/** Time of the loop to open an outbound connection, ms: over TCP, and with a full TLS handshake and its trust store. */
const OPENING_MS = { tcp: { low: 0.05, high: 0.3 }, tls: { low: 0.3, high: 4 } };
/** Minimum share of the loop's time at which opening connections is a limit. */
const MIN_LOOP_SHARE = 0.12;

/** Finds the outbound calls that open a connection each, where most requests make such calls. */
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

/** Predicts the gain of kept connections from the share of the loop's time that a profile attributes to opening them. */
function predictWithoutOpening(part: number): Interval {
  const { low, high } = computeGain(part, 0.8, 1.2);
  return part < MIN_DOMINANT_SHARE ? { low, high } : { low, high: computeDominantGain(part).high };
}

/** Detects a loop that is busy with opening a connection for each outbound call, and with their TLS handshakes. */
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
  // The profile of a server with TLS does not separate inbound and outbound handshakes.
  const connecting = base.load.plan.handshake === null ? (loopTime?.connecting ?? null) : null;
  const part = connecting ?? estimate.high;
  if (part < MIN_LOOP_SHARE) return null;
  const gain: Interval =
    connecting !== null
      ? predictWithoutOpening(part)
      : { low: computeGain(estimate.low, 1, 1).low, high: computeGain(estimate.high, 1, 1).high };
  return {
    limit,
    causeOf: 'event-loop-cpu',
    ...(connecting !== null && { loopShare: part }),
    // A small share of a busy loop is not its cause, and without a profile the share is unknown.
    weight: connecting === null ? 0.5 : Math.min(0.96, 0.3 + 1.2 * part),
    sentence: `connections to ${call.origin}: each call opens its own${isSecure ? ', with a TLS handshake' : ''}${connecting === null ? '' : `; that takes ${share(part)} of the loop's time`}.`,
    arithmetic: [
      `${rate(call.opened)} connections per second for ${rate(call.rate)} calls: ${each.toFixed(1)} per request, which takes the loop ${time(loop.busyMs)}`,
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
    predictions: predictBusyLoop(metrics),
    remedy: {
      change:
        'one agent or client with keep-alive for all calls (one new Agent({ keepAlive: true }), not one per call; fetch keeps connections by itself), and read responses to their end',
      predictedThroughput: scale(gain, throughput),
      nextLimit: 'event-loop-cpu',
    },
  };
};
