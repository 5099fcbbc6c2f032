/**
 * Time limits for what a service calls: `node --import millrace/deadlines app.js`. Loading this module puts them in force.
 *
 * @module millrace/deadlines
 */
import { syncBuiltinESMExports } from 'node:module';
import { fromEnvironment } from '../environment.js';
import { DeadlineError, type DeadlineFacts } from '../outbound/errors.js';
import type { DeadlineLimits, DeadlineName } from '../outbound/limits.js';
import { watchSignals } from './call/abort-signals.js';
import { type CallEnded, channels, type LimitReached } from './channels.js';
import { givenBy } from './environment.js';
import { Hosts } from './hosts.js';
import { limitHttp } from './http/client-request.js';
import { limitSockets } from './http/connects.js';
import { type DeadlineStats, type HostStats, readAll } from './stats.js';
import { limitUndici } from './undici/dispatcher.js';

const given = fromEnvironment(() => givenBy(process.env));
const hosts = new Hosts(given);

if (!given.isOff) {
  limitSockets(hosts);
  limitHttp(hosts);
  limitUndici(hosts);
  watchSignals();
  syncBuiltinESMExports();
}

/** What happened so far with the calls of this thread, by host. */
function stats(): DeadlineStats {
  return readAll(hosts.counted());
}

/** The limits of calls to a host, in milliseconds; all are 0 where deadlines are turned off. */
function limitsFor(host: string): DeadlineLimits {
  return hosts.limitsFor(host);
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
