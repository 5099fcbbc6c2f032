import { DEADLINE_NAMES, type DeadlineName } from '../outbound/limits.js';
import { computeQuantile, Histogram } from '../statistics/histogram.cjs';

/** Counters of a host. */
export interface HostStats {
  /** Calls begun: requests of `node:http`, `node:https` and undici. */
  calls: number;
  /** Calls begun and not yet ended. */
  inFlight: number;
  /** Connections begun, by any library. */
  connections: number;
  /** Limits that fired: `connect` and `tls` per connection, the others per call. */
  hits: Record<DeadlineName, number>;
  /** Duration of the ended calls in milliseconds; `null` before the first one. Quantiles are within 5 %. */
  timesMs: { mean: number; p50: number; p95: number; p99: number; max: number } | null;
}

/** Result of `stats()`: sums, and counters by host. */
export interface DeadlineStats {
  calls: number;
  inFlight: number;
  connections: number;
  hits: Record<DeadlineName, number>;
  hosts: Record<string, HostStats>;
}

function zeroHits(): Record<DeadlineName, number> {
  return Object.fromEntries(DEADLINE_NAMES.map((name) => [name, 0])) as Record<
    DeadlineName,
    number
  >;
}

/** Counts the calls to a host. */
export class HostCounters {
  calls = 0;
  inFlight = 0;
  connections = 0;
  readonly hits = zeroHits();
  readonly #times = new Histogram();
  #ended = 0;
  #sumMs = 0;
  #maxMs = 0;

  /** Records the end of a call; `null` if its duration says nothing about the host. */
  recordEnd(ms: number | null): void {
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
export function sumStats(counters: Iterable<[string, HostCounters]>): DeadlineStats {
  const stats: DeadlineStats = {
    calls: 0,
    inFlight: 0,
    connections: 0,
    hits: zeroHits(),
    hosts: {},
  };
  for (const [name, ofHost] of counters) {
    const host = ofHost.read();
    stats.hosts[name] = host;
    stats.calls += host.calls;
    stats.inFlight += host.inFlight;
    stats.connections += host.connections;
    for (const limit of DEADLINE_NAMES) stats.hits[limit] += host.hits[limit];
  }
  return stats;
}
