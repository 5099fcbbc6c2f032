import { usageError } from '../../errors/millrace-error.js';
import { parseCount } from '../../validation/units.js';
import { DEFAULTS, LIMITS } from '../defaults.js';
import type { LoadOptions } from '../options.js';
import type { PlanSummary } from '../result.js';
import { type Concurrency, readConcurrency } from './concurrency.js';
import type { Schedule } from './schedule.js';

/** The users of a run of scenarios, and their connections. */
export interface Users {
  concurrency: Concurrency;
  users: { users: number; ownConnections: boolean };
}

/**
 * Reads how many users there are, and whether each has connections of its own: where only one of `users` and `connections` is
 * given, in a closed run both mean users with connections of their own; in an open run `users` are those, and `connections`
 * are shared. Where both are given the users share the connections.
 */
export function readUsers(
  options: LoadOptions,
  schedule: Schedule,
  connection: PlanSummary['connection'],
  servers: number,
): Users {
  const isOpen = schedule.model === 'open';
  if (isOpen && options.connectionStages !== undefined) {
    throw usageError(
      'stages of users cannot be combined with a rate, whose iterations take users as they need them',
    );
  }
  const hasBoth = options.users !== undefined && options.connections !== undefined;
  const ownConnections = isOpen
    ? options.users !== undefined && options.connections === undefined
    : !hasBoth;
  const given = options.users ?? (ownConnections ? options.connections : undefined);
  const fallback = isOpen ? DEFAULTS.openUsers : DEFAULTS.users;
  if (ownConnections) {
    // A user's connections, one to each server, are one place for a connection of the engine.
    const wanted = options.connectionStages ? given : (given ?? fallback);
    const own = { ...options, ...(wanted !== undefined && { connections: wanted }) };
    const closed: Schedule = { ...schedule, model: 'closed' };
    const concurrency = readConcurrency(own, closed, connection, servers);
    const { connections, initialConnections } = concurrency;
    const initial = isOpen
      ? Math.min(connections, Math.max(DEFAULTS.openInitialConnections, concurrency.threads))
      : initialConnections;
    return {
      concurrency: { ...concurrency, initialConnections: initial },
      users: { users: connections, ownConnections },
    };
  }
  const shared: Schedule = { ...schedule, model: 'open' };
  const { connectionStages, ...rest } = options;
  if (connectionStages !== undefined) {
    throw usageError('stages of users need connections of their own: leave out connections (-c)');
  }
  const concurrency = readConcurrency(rest, shared, connection, servers);
  const users = parseCount(given ?? fallback, 'users', LIMITS.connections);
  return {
    concurrency: {
      ...concurrency,
      connections: Math.max(concurrency.connections, concurrency.threads * servers),
      threads: Math.min(concurrency.threads, users),
    },
    users: { users, ownConnections },
  };
}
