import { computeDepth } from '../../../load/streams.js';
import type { Metrics } from '../../metrics/types.js';

/** Minimum share of failed requests at which they are a limit. */
export const MIN_FAILURE_SHARE = 0.01;

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
  const missing = (maxConcurrency - inFlight) / computeDepth(base.load) - opening / durationMs;
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
