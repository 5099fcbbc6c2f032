import { count, rate, share, time } from '../../../format/units.js';
import type { Metrics } from '../../metrics/types.js';
import type { Detector } from '../hypothesis.js';

/** Minimum share of failed requests at which they are a limit. */
const MIN_FAILURE_SHARE = 0.01;

/** Minimum share of the connections that must be missing. */
const MIN_MISSING_SHARE = 0.2;

/** Minimum failed attempts per second and missing connection: each is retried at least once a second. */
const MIN_RETRIES_PER_SECOND = 0.5;

/**
 * Estimates the mean number of connections that the server does not keep open; 0 if they are missing for another
 * reason. The other connections are reused, and the server never has more of them at once. A server that restarts
 * differs: it has none for a while, and all of them later.
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

/** Errors of connections that the server, or a proxy before it, does not accept. */
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
      ? `a rate limiter: ${share(errorShare)} of the requests are answered with 429; ${rate(goodput)} requests per second succeed.`
      : `errors: ${share(errorShare)} of the requests fail, ${kinds.slice(0, 3).join(', ')}; only ${rate(goodput)} requests per second succeed${refused > 0 ? `, and ${count(refused)} of ${count(base.load.plan.connections)} connections are not open` : ''}.`,
    arithmetic: [
      `${rate(throughput)} responses per second, of which ${rate(goodput)} are successful (goodput)`,
      ...(refused > 0
        ? [
            `${count(inFlight)} of ${count(maxConcurrency)} requests are in flight: the others have no connection`,
          ]
        : []),
    ],
    evidence: [{ what: 'requests that failed', value: errorShare, unit: '1', source: 'load' }],
    predictions: {},
    remedy: {
      change: isRateLimited
        ? 'raise the limit, or load the server below it: fast refusals are not throughput'
        : isMostly('401', '403')
          ? "send the credentials that the server requires, such as -H 'Authorization: ...' or -H 'Cookie: ...'"
          : refused > 0
            ? `allow the server more connections than ${count(base.load.plan.connections - refused)}: server.maxConnections, or the limit of a proxy before it`
            : 'fix the errors first: an error takes more or less time than the work that it replaces',
      predictedThroughput: null,
      nextLimit: null,
    },
  };
};

/** Errors of requests whose connection the server closed while they were on the way. */
const CLOSE_ERRORS = new Set(['reset', 'closed-early']);

/** Maximum time for which a server keeps an idle connection beyond the announced timeout. Node.js adds one second. */
const GRACE_MS = 1500;

export const detectKeepAliveRace: Detector = (metrics) => {
  const limit = 'keep-alive-race';
  const { errors, plan, requests } = metrics.base.load;
  const closed = errors.filter(({ kind }) => CLOSE_ERRORS.has(kind));
  const failed = closed.reduce((sum, { count: number }) => sum + number, 0);
  const part = failed / Math.max(1, requests.sent);
  if (part < MIN_FAILURE_SHARE)
    return {
      limit,
      why: `${share(part)} of the requests were sent on a connection that the server closed`,
    };
  const pauseMs = computePauseMs(metrics);
  const announcedMs = readKeepAliveMs(metrics);
  if (pauseMs === null) {
    return { limit, why: 'connections are reused at once: they are never idle' };
  }
  if (announcedMs !== null && (pauseMs < 0.8 * announcedMs || pauseMs > announcedMs + GRACE_MS)) {
    return {
      limit,
      why: `connections are idle for ${time(pauseMs)}, and the server keeps them for ${time(announcedMs)}`,
    };
  }
  return {
    limit,
    causeOf: 'errors',
    weight: announcedMs === null ? 0.6 : 0.95,
    sentence: `keep-alive race: the server closes connections just as clients reuse them. ${share(part)} of the requests fail so, on connections that were idle for ${time(pauseMs)}${announcedMs === null ? '' : `; the server keeps idle connections for ${time(announcedMs)}`}.`,
    arithmetic: [
      `${count(failed)} of ${count(requests.sent)} requests were reset or not answered; on a new or recently used connection none would be`,
    ],
    evidence: [
      { what: 'requests on a closed connection', value: part, unit: '1', source: 'load' },
      { what: 'idle time of a connection', value: pauseMs, unit: 'ms', source: 'load' },
      ...(announcedMs === null
        ? []
        : [{ what: 'Keep-Alive: timeout', value: announcedMs, unit: 'ms', source: 'http' }]),
    ],
    predictions: { ...(plan.thinkTimeMs > 0 && { 'think-time-half': { low: 0, high: 0.4 } }) },
    remedy: {
      change:
        'a longer keepAliveTimeout on the server, or clients that close idle connections before the server does',
      predictedThroughput: {
        low: metrics.throughput,
        high: metrics.throughput / (1 - Math.min(0.9, part)),
      },
      nextLimit: null,
    },
  };
};

/** Computes how long a connection is idle between two requests in ms; `null` if it is never idle. */
function computePauseMs({ base, model }: Metrics): number | null {
  const { plan } = base.load;
  if (plan.thinkTimeMs > 0) return plan.thinkTimeMs;
  const openedMs = base.load.durationMs;
  if (model === 'closed' || base.load.connections.reused === 0) return null;
  return (openedMs * plan.initialConnections) / base.load.connections.reused;
}

/** Reads the timeout in ms that the server announces for idle connections in `Keep-Alive`; `null` without one. */
function readKeepAliveMs({ sample }: Metrics): number | null {
  const match = /timeout=(\d+)/.exec(String(sample?.headers['keep-alive'] ?? ''));
  return match ? Number(match[1]) * 1000 : null;
}

/** Minimum share of the local ports that are in TIME_WAIT; the others may be in use. */
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
};

/** Seconds for which Linux keeps the port of a closed connection. */
const TIME_WAIT_S = 60;
