import { count, share, time } from '../../../format/units.js';
import { MIN_FAILURE_SHARE } from '../../hypotheses/connections/failures.js';
import type { Detected } from '../../hypotheses/hypothesis.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const KEEP_ALIVE_RACE = {
  id: 'keep-alive-race',
  group: 'connections and TCP',
  text: {
    title: 'The keep-alive race',
    what: 'The server closes idle connections after keepAliveTimeout (5 s by default), just as a client sends its next request.',
    shows: 'Resets on connections that were idle for about that time, at low rates only.',
    experiment:
      "'half the think time': with half of the pause between two requests hardly any request fails.",
    formula: 'resets appear if the pause reaches keepAliveTimeout',
    remedy: 'An idle timeout of the client below that of the server.',
    detected: 'by experiment',
    note: 'It needs a load with pauses (--think-time), or a low rate.',
  },
  needsOwnLoad: 'errors that only clients notice are not seen',
  detectors: [detectKeepAliveRace],
} satisfies Limit;

/** Errors of requests whose connection the server closed while they were on the way. */
const CLOSE_ERRORS = new Set(['reset', 'closed-early']);

/** Maximum time for which a server keeps an idle connection beyond the announced timeout. Node.js adds one second. */
const GRACE_MS = 1500; // Source: Node.js: keepAliveTimeoutBuffer is 1 s; the rest is judgment

function detectKeepAliveRace(metrics: Metrics): Detected {
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
}

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
