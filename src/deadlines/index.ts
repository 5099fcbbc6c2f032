/**
 * What the deadlines of this thread have counted, and which limits hold. Importing this module sets no limits:
 * `millrace/deadlines/register` does.
 *
 * @module millrace/deadlines
 */
import { DeadlineError, type DeadlineFacts } from '../outbound/errors.js';
import type { DeadlineLimits, DeadlineName } from '../outbound/limits.js';
import { readLimits, readStats } from './active-hosts.js';
import { type CallEnded, channels, type LimitReached } from './channels.js';
import { warnIfPreloaded } from './preload-warning.js';
import type { DeadlineStats, HostStats } from './stats.js';

warnIfPreloaded();

/** Returns the counters of this thread, in total and by host; all are 0 where deadlines are not registered. */
function stats(): DeadlineStats {
  return readStats();
}

/** Returns the limits of calls to a host, in milliseconds; all are 0 where deadlines are off or not registered. */
function limitsFor(host: string): DeadlineLimits {
  return readLimits(host);
}

export type {
  CallEnded,
  DeadlineFacts,
  DeadlineLimits,
  DeadlineName,
  DeadlineStats,
  HostStats,
  LimitReached,
};
export { channels, DeadlineError, limitsFor, stats };
export default { channels, DeadlineError, limitsFor, stats };
