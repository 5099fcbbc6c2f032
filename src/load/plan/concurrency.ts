import { isIP } from 'node:net';
import { usageError } from '../../errors/millrace-error.js';
import { plural } from '../../format/units.js';
import { parseCount, parseDuration } from '../../validation/units.js';
import { DEFAULTS, LIMITS } from '../defaults.js';
import type { LoadOptions } from '../options.js';
import type { PlanSummary } from '../result.js';
import { countArrivals, type Schedule } from './schedule.js';

/** The numbers of connections, threads and requests that are in use at the same time. */
export type Concurrency = Pick<
  PlanSummary,
  | 'connections'
  | 'initialConnections'
  | 'connectionStages'
  | 'localAddresses'
  | 'threads'
  | 'pipelining'
  | 'follow'
>;

/** Reads the numbers of connections, threads and pipelined requests from the options. */
export function readConcurrency(
  options: LoadOptions,
  schedule: Schedule,
  connection: PlanSummary['connection'],
  origins: number,
): Concurrency {
  const open = schedule.model === 'open';
  const threads = parseCount(options.threads ?? DEFAULTS.threads, 'threads', LIMITS.threads);
  // In a closed run a connection stands for one to each server.
  const servers = open ? origins : 1;
  const min = threads * servers;
  const closed = options.connectionStages ? min : DEFAULTS.connections;
  const fallback = open ? DEFAULTS.openConnections : closed;
  const asked = parseCount(options.connections ?? fallback, 'connections', LIMITS.connections);
  if (asked < min) {
    const parts = `${plural(threads, 'thread')}${servers === 1 ? '' : ` and ${servers} servers`}`;
    throw usageError(
      `connections must be at least ${min}, one for each of ${parts} (got ${asked})${threads > asked ? ': use fewer threads; a time limit is timeout (-T)' : ''}`,
    );
  }
  const pipelining = parseCount(
    options.pipelining ?? DEFAULTS.pipelining,
    'pipelining',
    LIMITS.pipelining,
  );
  // How many requests users send is not known.
  const isKnown = options.scenario === undefined;
  if (pipelining > 1 && isKnown) refuseUnreachableDepth(pipelining, schedule, connection);
  const follow = parseCount(options.follow ?? DEFAULTS.follow, 'follow', LIMITS.follow);
  const isHttp1 = options.http2 !== true && options.h2c !== true;
  if (follow > 0) refuseToFollow(follow, isHttp1 ? pipelining : 1, connection);
  // All users of scenarios may have gone.
  const stages = readConnectionStages(options, schedule, options.scenario === undefined ? min : 0);
  const most = Math.max(asked, ...stages.map((stage) => stage.connections));
  // More connections than requests would stay idle.
  const connections = Math.min(most, Math.max(schedule.requests ?? most, servers));
  const usedThreads = Math.min(threads, Math.floor(connections / servers));
  const opened =
    open && options.connections === undefined
      ? Math.max(DEFAULTS.openInitialConnections, usedThreads * servers)
      : stages.length > 0
        ? asked
        : connections;
  return {
    connections,
    initialConnections: Math.min(connections, opened),
    connectionStages: stages.map(({ durationMs, connections: wanted }) => ({
      durationMs,
      connections: Math.min(wanted, connections),
    })),
    localAddresses: readLocalAddresses(options),
    threads: usedThreads,
    pipelining,
    follow,
  };
}

/** Reads how the number of connections changes; empty where it does not. `min` is the smallest number. */
function readConnectionStages(
  { connectionStages = [], rate, stages }: LoadOptions,
  { model }: Schedule,
  min: number,
): Concurrency['connectionStages'] {
  if (connectionStages.length === 0) return [];
  if (model === 'open') {
    const given = rate === undefined && stages ? 'stages of a rate' : 'a rate';
    throw usageError(
      `connectionStages cannot be combined with ${given}: an open run opens connections as its arrivals need them`,
    );
  }
  return connectionStages.map(({ duration, connections }, index) => ({
    durationMs: parseDuration(duration, `connectionStages[${index}].duration`),
    connections: parseCount(connections, `connectionStages[${index}].connections`, {
      ...LIMITS.connections,
      min,
    }),
  }));
}

/** Reads the addresses of this host that connections come from. */
function readLocalAddresses({ localAddress, socketPath }: LoadOptions): string[] {
  const addresses = [localAddress ?? []].flat();
  if (addresses.length > 0 && socketPath !== undefined) {
    throw usageError('localAddress cannot be combined with socketPath: a Unix socket has none');
  }
  const other = addresses.find((address) => isIP(address) === 0 || address.includes('%'));
  if (other === undefined) return addresses;
  throw usageError(`localAddress must be an IP address of this host (got '${other}')`);
}

/** Refuses redirections where another request may come between: they are followed on the same connection. */
function refuseToFollow(
  follow: number,
  pipelining: number,
  connection: PlanSummary['connection'],
): void {
  if (pipelining === 1 && connection === 'keep-alive') return;
  const cause = pipelining > 1 ? `pipelining ${pipelining}` : 'a new connection for each request';
  throw usageError(
    `follow ${follow} cannot be combined with ${cause}: redirections are followed on the same connection`,
  );
}

/** Refuses a number of pipelined requests that the run cannot reach. */
function refuseUnreachableDepth(
  pipelining: number,
  schedule: Schedule,
  connection: PlanSummary['connection'],
): void {
  if (connection === 'close') {
    throw usageError(
      `pipelining ${pipelining} cannot be combined with connection close, which sends one request per connection`,
    );
  }
  if (schedule.model === 'closed') return;
  const { maxPending, durationMs, requests } = schedule;
  if (maxPending !== null && maxPending < pipelining) {
    throw usageError(
      `pipelining must be at most ${maxPending}, the value of maxPending (got ${pipelining})`,
    );
  }
  const due = durationMs === null ? Number.POSITIVE_INFINITY : countArrivals(schedule, durationMs);
  const arrivals = Math.floor(Math.min(due, requests ?? due));
  if (arrivals < pipelining) {
    throw usageError(
      `pipelining must be at most ${Math.max(arrivals, 1)} in a run of ${plural(arrivals, 'arrival')} (got ${pipelining}): use a higher rate or a longer run`,
    );
  }
}
