import { DEADLINE_NAMES, type DeadlineLimits } from '../outbound/limits.js';
import type { Hosts } from './hosts.js';
import { type DeadlineStats, sumStats } from './stats.js';

/** The hosts that this thread calls; `null` where deadlines are off or not registered. */
let active: Hosts | null = null;

/** Makes the hosts known to `stats()` and `limitsFor()`. */
export function activate(hosts: Hosts): void {
  active = hosts;
}

/** Returns the counters of all hosts, and their sums. */
export function readStats(): DeadlineStats {
  return sumStats(active?.counters() ?? []);
}

/** Returns the limits of a host, in milliseconds; all are 0 where there are none. */
export function readLimits(host: string): DeadlineLimits {
  return active?.limitsFor(host) ?? noLimits();
}

function noLimits(): DeadlineLimits {
  return Object.fromEntries(DEADLINE_NAMES.map((name) => [name, 0])) as unknown as DeadlineLimits;
}
