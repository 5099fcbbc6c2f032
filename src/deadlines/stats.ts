import { DEADLINE_NAMES, type DeadlineName } from '../outbound/limits.js';
import { computeQuantile, Histogram } from '../statistics/histogram.cjs';

/** What happened with the calls to one host. */
export interface HostStats {
  /** So far, calls that were begun: requests of `node:http`, `node:https` and undici. */
  calls: number;
  /** Now: begun and not yet ended. */
  inFlight: number;
  /** So far, connections that were begun, by whomever. */
  connections: number;
  /** So far, limits that fired: `connect` and `tls` by connection, the others by call. */
  hits: Record<DeadlineName, number>;
  /** Of the calls that ended, from the call to its end, in milliseconds; `null` before the first one. Quantiles are within 5 %. */
  timesMs: { mean: number; p50: number; p95: number; p99: number; max: number } | null;
}

/** What `stats()` gives. */
export interface DeadlineStats {
  calls: number;
  inFlight: number;
  connections: number;
  hits: Record<DeadlineName, number>;
  hosts: Record<string, HostStats>;
}

function noHits(): Record<DeadlineName, number> {
  return Object.fromEntries(DEADLINE_NAMES.map((name) => [name, 0])) as Record<
    DeadlineName,
    number
  >;
}

/** Counts the calls to one host. */
export class HostCounters {
  calls = 0;
  inFlight = 0;
  connections = 0;
  readonly hits = noHits();
  readonly #times = new Histogram();
  #ended = 0;
  #sumMs = 0;
  #maxMs = 0;

  /** `null`: its time says nothing about the host. */
  ended(ms: number | null): void {
    this.inFlight--;
    if (ms === null) return;
    this.#ended++;
    this.#sumMs += ms;
    if (ms > this.#maxMs) this.#maxMs = ms;
    this.#times.add(ms);
  }

  read(): HostStats {
    const { calls, inFlight, connections, hits } = this;
    return { calls, inFlight, connections, hits: { ...hits }, timesMs: this.#readTimes() };
  }

  #readTimes(): HostStats['timesMs'] {
    if (this.#ended === 0) return null;
    const buckets = this.#times.read();
    const at = (quantile: number) => Math.min(computeQuantile(buckets, quantile) ?? 0, this.#maxMs);
    return {
      mean: this.#sumMs / this.#ended,
      p50: at(0.5),
      p95: at(0.95),
      p99: at(0.99),
      max: this.#maxMs,
    };
  }
}

/** Reads the counters of all hosts, and sums them. */
export function sumStats(counted: Iterable<[string, HostCounters]>): DeadlineStats {
  const stats: DeadlineStats = { calls: 0, inFlight: 0, connections: 0, hits: noHits(), hosts: {} };
  for (const [name, counters] of counted) {
    const host = counters.read();
    stats.hosts[name] = host;
    stats.calls += host.calls;
    stats.inFlight += host.inFlight;
    stats.connections += host.connections;
    for (const limit of DEADLINE_NAMES) stats.hits[limit] += host.hits[limit];
  }
  return stats;
}
