import { completeLimits, DEADLINE_NAMES, type DeadlineLimits } from '../outbound/limits.js';
import type { EnvironmentLimits } from './environment.js';
import { findPatterns, normalizeHost } from './host-name.js';
import { HostCounters } from './stats.js';

/** Maximum number of hosts with counters of their own; the others share one set. */
const MAX_HOSTS = 1000;
const OTHER_HOSTS = 'others';
/** A call is checked this many times within its shortest limit, so a limit fires at most that fraction late. */
const CHECKS_PER_LIMIT = 16;
const MIN_CHECK_INTERVAL_MS = 10;
const MAX_CHECK_INTERVAL_MS = 1000;

/** A called host: its limits and counters. */
export interface Host {
  readonly name: string;
  readonly limits: Readonly<DeadlineLimits>;
  readonly counters: HostCounters;
  /** Milliseconds between two checks of a call. */
  readonly checkIntervalMs: number;
}

/** The hosts that were called. */
export class Hosts {
  readonly #options: EnvironmentLimits;
  readonly #byText = new Map<string, Host>();
  readonly #countersByName = new Map<string, HostCounters>();

  constructor(options: EnvironmentLimits) {
    this.#options = options;
  }

  /** Returns the host with a name, spelt as in a URL or an option. */
  find(name: string): Host {
    return this.#byText.get(name) ?? this.#add(name);
  }

  #add(text: string): Host {
    const name = normalizeHost(text);
    const limits = this.limitsFor(name);
    const host = {
      name,
      limits,
      counters: this.#findCounters(name),
      checkIntervalMs: computeCheckInterval(limits),
    };
    if (this.#byText.size < 2 * MAX_HOSTS) this.#byText.set(text, host);
    return host;
  }

  #findCounters(name: string): HostCounters {
    const known = this.#countersByName.get(name);
    if (known) return known;
    if (this.#countersByName.size >= MAX_HOSTS && name !== OTHER_HOSTS)
      return this.#findCounters(OTHER_HOSTS);
    const counters = new HostCounters();
    this.#countersByName.set(name, counters);
    return counters;
  }

  limitsFor(host: string): DeadlineLimits {
    const { all, hosts } = this.#options;
    for (const pattern of findPatterns(normalizeHost(host))) {
      const limits = hosts.get(pattern);
      if (limits !== undefined) return completeLimits({ ...all, ...limits });
    }
    return completeLimits(all);
  }

  /** Returns the counters of each host. */
  *counters(): Iterable<[name: string, counters: HostCounters]> {
    yield* this.#countersByName;
  }
}

function computeCheckInterval(limits: DeadlineLimits): number {
  const shortest = Math.min(
    ...DEADLINE_NAMES.map((name) => limits[name] || Number.POSITIVE_INFINITY),
  );
  return Math.ceil(
    Math.min(Math.max(shortest / CHECKS_PER_LIMIT, MIN_CHECK_INTERVAL_MS), MAX_CHECK_INTERVAL_MS),
  );
}
