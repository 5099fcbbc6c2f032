import { count, share, time } from '../../../format/units.js';
import { detectOutboundOpening } from '../../hypotheses/connections/outbound-opening.js';
import { predictBusyLoop } from '../../hypotheses/event-loop/busy-loop.js';
import { buildLoopEvidence, SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import { type Detected, scale, widen } from '../../hypotheses/hypothesis.js';
import { computeOpeningShare } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const TLS_HANDSHAKE = {
  id: 'tls-handshake',
  group: 'connections and TCP',
  text: {
    title: 'TLS handshakes',
    what: 'A full handshake takes more CPU time than many requests: of clients with the server, or of the service with its dependencies.',
    shows:
      'A good part of the requests, or of the outbound https calls, have a handshake of their own.',
    experiment:
      "'TLS kept' keeps connections open, with their sessions: throughput rises by the cost of the handshakes, and not by that of the requests. Where the server closes connections, 'TLS resumed' resumes sessions: throughput rises by the signature of a full handshake.",
    formula:
      'CPU time per request = CPU time of the work + share of requests with a handshake x CPU time of a handshake',
    remedy:
      'Keep-alive, session resumption, or an ECDSA certificate instead of RSA; one agent for all calls.',
    detected: 'by experiment',
    note: 'By its signature for outbound calls: the profile measures the time that opening connections takes.',
  },
  detectors: [(metrics) => detectOutboundOpening(metrics, 'tls-handshake'), detectTlsHandshake],
  remedyExperiments: [{ experiment: 'tls-keep-alive' }],
  isWhollyTried: true,
  connectionCost: { experiments: ['tls-keep-alive', 'tls-resumption'], words: 'their handshakes' },
} satisfies Limit;

/** CPU time of a full TLS handshake on the server in ms: from ECDSA P-256 to RSA with 2048 bits on a slow core. */
const HANDSHAKE_MS = { low: 0.15, high: 3 };

/** Computes the maximum CPU time of a full TLS handshake, in ms: that of an RSA signature grows with the cube of its bits. */
function computeMaxHandshakeMs({ sample }: Metrics): number {
  return HANDSHAKE_MS.high * Math.max(1, (sample?.rsaBits ?? 0) / 2048) ** 3;
}

function detectTlsHandshake(metrics: Metrics): Detected {
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
}
