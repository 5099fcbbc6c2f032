import { count, rate, share, time } from '../../../format/units.js';
import type { Metrics } from '../../metrics/types.js';
import type { Detector } from '../hypothesis.js';

/** Share of failures from which on they are a limit. */
const MIN_FAILURE_SHARE = 0.01;

/** Part of the requests that could be in flight which is not, from which on connections are what is missing. */
const MIN_MISSING_SHARE = 0.2;

/** A refused connection is tried again once a second at the least; this many of such attempts have to have failed. */
const MIN_RETRIES_PER_SECOND = 0.5;

/**
 * Connections of the load that the server does not let stay open, mean; 0 where they are missing for another reason. The others are kept and
 * used again, and it has no more of them at any time: a server that restarts has none for a while, and all later.
 */
export function estimateRefusedConnections({
  base,
  model,
  maxConcurrency,
  inFlight,
  sockets,
}: Metrics): number {
  const { errors, plan, connections, requests, connectMs, tlsMs, durationMs } = base.load;
  if (model !== 'closed' || plan.thinkTimeMs > 0) return 0;
  const completed = requests.ok + requests.statusErrors;
  const hasKeptConnections = connections.reused > completed / 2;
  const opening = connections.opened * ((connectMs.mean ?? 0) + (tlsMs.mean ?? 0));
  const missing = (maxConcurrency - inFlight) / plan.pipelining - opening / durationMs;
  const atConnection = sumCounts(errors.filter(({ kind }) => CONNECTION_ERRORS.has(kind)));
  const others = sumCounts(errors) - atConnection + requests.statusErrors + requests.timeouts;
  const isPersistent = atConnection >= (MIN_RETRIES_PER_SECOND * missing * durationMs) / 1000;
  const maxOpen = sockets && sockets.samples > 0 ? sockets.server.max : 0;
  const hasFewConnections = maxOpen <= plan.connections - missing / 2;
  const isRefusal =
    hasKeptConnections && isPersistent && hasFewConnections && atConnection > others;
  return isRefusal && missing > MIN_MISSING_SHARE * plan.connections ? missing : 0;
}

/** How a connection fails that the server, or what stands before it, does not take. */
const CONNECTION_ERRORS = new Set([
  'reset',
  'closed-early',
  'connect-refused',
  'connect-timeout',
  'tls',
]);

function sumCounts(errors: { count: number }[]): number {
  return errors.reduce((sum, { count }) => sum + count, 0);
}

export const detectErrors: Detector = (metrics) => {
  const limit = 'errors';
  const { base, errorShare, goodput, throughput, maxConcurrency, inFlight } = metrics;
  const { requests, statusCodes, errors } = base.load;
  const refused = estimateRefusedConnections(metrics);
  if (errorShare < MIN_FAILURE_SHARE && refused === 0) {
    return { limit, why: `${share(errorShare)} of the requests failed` };
  }
  const codes = Object.entries(statusCodes)
    .filter(([code]) => Number(code) >= 400)
    .sort(([, a], [, b]) => b - a);
  const kinds = [
    ...codes.map(([code, number]) => `status ${code} (${count(number)})`),
    ...errors.map(({ kind, count: number }) => `${kind} (${count(number)})`),
  ];
  const isMostly = (...codes: string[]) =>
    codes.reduce((sum, code) => sum + (statusCodes[code] ?? 0), 0) > requests.statusErrors / 2;
  const isRateLimited = isMostly('429');
  return {
    limit,
    weight: refused > 0 ? 0.95 : Math.min(1, 0.4 + errorShare * 3),
    sentence: isRateLimited
      ? `a rate limiter: ${share(errorShare)} of the requests are answered by 429; ${rate(goodput)} a second are served.`
      : `errors: ${share(errorShare)} of the requests fail, ${kinds.slice(0, 3).join(', ')}; only ${rate(goodput)} a second are served${refused > 0 ? `, and ${count(refused)} of ${count(base.load.plan.connections)} connections are not open` : ''}.`,
    arithmetic: [
      `${rate(throughput)} responses a second, of which good: ${rate(goodput)} (goodput)`,
      ...(refused > 0
        ? [
            `${count(inFlight)} of ${count(maxConcurrency)} requests in flight: the others have no connection`,
          ]
        : []),
    ],
    evidence: [{ what: 'requests that failed', value: errorShare, unit: '1', source: 'load' }],
    unlisted: 'unknown',
    predictions: {},
    remedy: {
      change: isRateLimited
        ? 'raise the limiter, or load below it: fast refusals are no throughput'
        : isMostly('401', '403')
          ? "send what the server asks for, as -H 'Authorization: ...' or -H 'Cookie: ...'"
          : refused > 0
            ? `let the server have more connections than ${count(base.load.plan.connections - refused)}: server.maxConnections, or a bound before it`
            : 'mend what fails first: errors are faster or slower than the work they replace',
      predictedThroughput: null,
      nextLimit: null,
    },
  };
};

/** How a connection ends that the server closed while a request was on its way. */
const CLOSE_ERRORS = new Set(['reset', 'closed-early']);

/** A server ends an idle connection so much later than it says, at most: Node waits a second longer. */
const GRACE_MS = 1500;

export const detectKeepAliveRace: Detector = (metrics) => {
  const limit = 'keep-alive-race';
  const { errors, plan, requests } = metrics.base.load;
  const closed = errors.filter(({ kind }) => CLOSE_ERRORS.has(kind));
  const failed = closed.reduce((sum, { count: number }) => sum + number, 0);
  const part = failed / Math.max(1, requests.sent);
  if (part < MIN_FAILURE_SHARE)
    return { limit, why: `${share(part)} of the requests met a closed connection` };
  const pauseMs = computePauseMs(metrics);
  const announcedMs = readKeepAliveMs(metrics);
  if (pauseMs === null) {
    return { limit, why: 'a connection is used again at once, and not idle before' };
  }
  if (announcedMs !== null && (pauseMs < 0.8 * announcedMs || pauseMs > announcedMs + GRACE_MS)) {
    return {
      limit,
      why: `connections are idle for ${time(pauseMs)}, and kept for ${time(announcedMs)}`,
    };
  }
  return {
    limit,
    causeOf: 'errors',
    weight: announcedMs === null ? 0.6 : 0.95,
    sentence: `connections are closed just when they are used: ${share(part)} of the requests meet that, after ${time(pauseMs)} without one${announcedMs === null ? '' : `; the server keeps idle connections for ${time(announcedMs)}`}.`,
    arithmetic: [
      `${count(failed)} of ${count(requests.sent)} requests were reset or not answered; on a connection that is new, or used sooner, none would be`,
    ],
    evidence: [
      { what: 'requests on a closed connection', value: part, unit: '1', source: 'load' },
      { what: 'pause of a connection', value: pauseMs, unit: 'ms', source: 'load' },
      ...(announcedMs === null
        ? []
        : [{ what: 'Keep-Alive: timeout', value: announcedMs, unit: 'ms', source: 'http' }]),
    ],
    unlisted: 'unknown',
    predictions: { ...(plan.thinkTimeMs > 0 && { 'shorter pause': { low: 0, high: 0.4 } }) },
    remedy: {
      change:
        'a longer keepAliveTimeout on the server, or clients that give idle connections up before it does',
      predictedThroughput: {
        low: metrics.throughput,
        high: metrics.throughput / (1 - Math.min(0.9, part)),
      },
      nextLimit: null,
    },
  };
};

/** How long a connection is idle between two requests, ms; `null` if it is not. */
function computePauseMs({ base, model }: Metrics): number | null {
  const { plan } = base.load;
  if (plan.thinkTimeMs > 0) return plan.thinkTimeMs;
  const openedMs = base.load.durationMs;
  if (model === 'closed' || base.load.connections.reused === 0) return null;
  return (openedMs * plan.initialConnections) / base.load.connections.reused;
}

/** What the server says of how long it keeps an idle connection. */
function readKeepAliveMs({ sample }: Metrics): number | null {
  const match = /timeout=(\d+)/.exec(String(sample?.headers['keep-alive'] ?? ''));
  return match ? Number(match[1]) * 1000 : null;
}

/** Of the local ports, in TIME_WAIT: the others are in use, or left over. */
const MIN_TIME_WAIT_SHARE = 0.8;

export const detectEphemeralPorts: Detector = ({ sockets, base, errorShare, throughput }) => {
  const limit = 'ephemeral-ports';
  if (!sockets || sockets.localPorts === null) return null;
  const taken = sockets.timeWait / Math.max(1, sockets.localPorts);
  const { connections, statusCodes } = base.load;
  const refused = Object.entries(statusCodes).some(([code, n]) => Number(code) >= 500 && n > 0);
  const fails = connections.failed > 0 || (refused && errorShare >= MIN_FAILURE_SHARE);
  if (taken < MIN_TIME_WAIT_SHARE || !fails) {
    return {
      limit,
      why: `${count(sockets.timeWait)} of ${count(sockets.localPorts)} local ports wait for the end of a connection`,
    };
  }
  const perSecond = sockets.localPorts / TIME_WAIT_S;
  return {
    limit,
    causeOf: 'errors',
    weight: 0.95,
    sentence: `no local ports are left: ${count(sockets.timeWait)} of ${count(sockets.localPorts)} belong to connections that were closed within the last minute, and further ones fail.`,
    arithmetic: [
      `${count(sockets.localPorts)} ports / ${TIME_WAIT_S} s = ${rate(perSecond)} new connections a second to one address, for ever; ${rate(throughput)} responses a second were asked for`,
    ],
    evidence: [
      { what: 'ports in TIME_WAIT', value: sockets.timeWait, unit: 'ports', source: 'sockets' },
      { what: 'local ports', value: sockets.localPorts, unit: 'ports', source: 'proc' },
      { what: 'requests that failed', value: errorShare, unit: '1', source: 'load' },
    ],
    unlisted: 'unknown',
    predictions: {},
    remedy: {
      change:
        "keep-alive where the connections are opened: an agent or a pool that uses them again (the server's calls to others count, too)",
      predictedThroughput: null,
      nextLimit: null,
    },
  };
};

/** Linux keeps the port of a closed connection for so long. */
const TIME_WAIT_S = 60;
