import { count, rate } from '../../../format/units.js';
import { MIN_FAILURE_SHARE } from '../../hypotheses/connections/failures.js';
import type { Detected } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const EPHEMERAL_PORTS = {
  id: 'ephemeral-ports',
  group: 'connections and TCP',
  text: {
    title: 'Local ports are exhausted',
    what: 'Each closed connection keeps its local port for a minute. A few hundred connections per second to one address take all ports.',
    shows:
      'Connection attempts fail with EADDRNOTAVAIL, and tens of thousands of sockets are in TIME_WAIT: on the client, or on the server for its outbound calls.',
    experiment:
      'None: keep-alive on that side would end the errors, and explain cannot change it there.',
    formula:
      'connections per second = local ports / 60 s; 28,232 ports, the default of Linux, give 470 to one address and port',
    remedy: 'Keep-alive: an agent that reuses its connections.',
    confirm:
      'keep connections open on the side that opens them: the errors end, and sockets in TIME_WAIT become few',
    detected: 'by its signature',
    note: 'Ports are counted over all addresses: a server that calls several may have more connections than ports.',
  },
  detectors: [detectEphemeralPorts],
} satisfies Limit;

/** Minimum share of the local ports that are in TIME_WAIT; the others may be in use. */
const MIN_TIME_WAIT_SHARE = 0.8;

function detectEphemeralPorts({ sockets, base, errorShare, throughput }: Metrics): Detected {
  const limit = 'ephemeral-ports';
  if (!sockets || sockets.localPorts === null) return null;
  const taken = sockets.timeWait / Math.max(1, sockets.localPorts);
  const { connections, statusCodes } = base.load;
  const refused = Object.entries(statusCodes).some(([code, n]) => Number(code) >= 500 && n > 0);
  const fails = connections.failed > 0 || (refused && errorShare >= MIN_FAILURE_SHARE);
  if (taken < MIN_TIME_WAIT_SHARE || !fails) {
    return {
      limit,
      why: `${count(sockets.timeWait)} of ${count(sockets.localPorts)} local ports are in TIME_WAIT`,
    };
  }
  const perSecond = sockets.localPorts / TIME_WAIT_S;
  return {
    limit,
    causeOf: 'errors',
    weight: 0.95,
    sentence: `local ports are exhausted: ${count(sockets.timeWait)} of ${count(sockets.localPorts)} belong to connections that were closed within the last minute, and new connections fail.`,
    arithmetic: [
      `${count(sockets.localPorts)} ports / ${TIME_WAIT_S} s = ${rate(perSecond)} sustained new connections per second to one address; the load had ${rate(throughput)} responses per second`,
    ],
    evidence: [
      { what: 'ports in TIME_WAIT', value: sockets.timeWait, unit: 'ports', source: 'sockets' },
      { what: 'local ports', value: sockets.localPorts, unit: 'ports', source: 'proc' },
      { what: 'requests that failed', value: errorShare, unit: '1', source: 'load' },
    ],
    predictions: {},
    remedy: {
      change:
        "keep-alive on the side that opens the connections: an agent or a pool that reuses them (the server's outbound calls count too)",
      predictedThroughput: null,
      nextLimit: null,
    },
  };
}

/** Seconds for which Linux keeps the port of a closed connection. */
const TIME_WAIT_S = 60; // Source: Linux: TCP_TIMEWAIT_LEN
