import { completeLimits, DEADLINE_NAMES, type DeadlineLimits } from '../outbound/limits.js';
import type { EnvironmentLimits } from './environment.js';
import { findPatterns, normalizeHost } from './host-name.js';
import { HostCounters } from './stats.js';

/** Hosts that are told apart in the statistics; the others are one. */
const MOST_HOSTS = 1000;
const OTHERS = 'others';
/** A limit is looked at so often within its time, so it is met that much later at most. */
const LOOKS = 16;
const LEAST_BETWEEN_LOOKS = 10;
const MOST_BETWEEN_LOOKS = 1000;

/** A host that is called: its limits, and what happened with it. */
export interface Host {
  readonly name: string;
  readonly limits: Readonly<DeadlineLimits>;
  readonly counters: HostCounters;
  /** Milliseconds between two looks at one of its calls. */
  readonly interval: number;
}

/** All hosts that were called. */
export class Hosts {
  readonly #options: EnvironmentLimits;
  readonly #known = new Map<string, Host>();
  readonly #counters = new Map<string, HostCounters>();

  constructor(options: EnvironmentLimits) {
    this.#options = options;
  }

  /** As a URL or an option names it. */
  named(name: string): Host {
    return this.#known.get(name) ?? this.#add(name);
  }

  #add(text: string): Host {
    const name = normalizeHost(text);
    const limits = this.limitsFor(name);
    const host = { name, limits, counters: this.#countersOf(name), interval: intervalOf(limits) };
    if (this.#known.size < 2 * MOST_HOSTS) this.#known.set(text, host);
    return host;
  }

  #countersOf(name: string): HostCounters {
    const known = this.#counters.get(name);
    if (known) return known;
    if (this.#counters.size >= MOST_HOSTS && name !== OTHERS) return this.#countersOf(OTHERS);
    const counters = new HostCounters();
    this.#counters.set(name, counters);
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
    yield* this.#counters;
  }
}

function intervalOf(limits: DeadlineLimits): number {
  const least = Math.min(...DEADLINE_NAMES.map((name) => limits[name] || Number.POSITIVE_INFINITY));
  return Math.ceil(Math.min(Math.max(least / LOOKS, LEAST_BETWEEN_LOOKS), MOST_BETWEEN_LOOKS));
}
