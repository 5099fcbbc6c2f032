import { native } from '../reactor/native.js';
import type { CountedHere, StackStats } from './stats.js';

type NativeCounts = ReturnType<typeof native.stackCounts>;

/** What the counters use of a server. */
interface CountedServer {
  readonly id: number;
  readonly stats: CountedHere;
  readonly requests: number;
  readonly inFlight: number;
  readonly caches: boolean;
  readonly cache: { stats(): { hits: number } | null };
  readonly connections: { readonly size: number };
}

/** Counters of a server: those of the reactor go on where the server listens again, under another number. */
export class Counters {
  readonly #server: CountedServer;
  /** Counters of the server's earlier numbers in the reactor. */
  #earlierHits = 0;
  #earlier: NativeCounts = {
    ...{ lost: 0, moved: 0, relayed: 0, unowned: 0, refused: 0, timedOut: 0 },
    unusual: {},
    http2: { connections: 0, streams: 0, resets: 0, refused: 0, errors: 0, misdirected: 0 },
  };

  constructor(server: CountedServer) {
    this.#server = server;
  }

  /** Computes the result of `server.stats()`. */
  count(): StackStats {
    const { stats, connections, inFlight, requests } = this.#server;
    const { lost, moved, relayed, unowned, refused, timedOut, unusual, http2 } =
      this.#countedNatively();
    return {
      ...stats,
      responseTimeouts: stats.responseTimeouts + timedOut,
      overloaded: stats.overloaded + refused,
      connections: { open: connections.size, ...stats.connections, lost, moved, relayed },
      requests: {
        inFlight,
        native: requests,
        cached: this.#hits(),
        ...stats.requests,
        unowned,
      },
      http2: { ...http2 },
      fallbackReasons: { ...stats.fallbackReasons },
      unusualRequests: { ...unusual },
    };
  }

  /** Keeps the counters of the reactor, which is about to forget the server. */
  keep(): void {
    this.#earlierHits = this.#hits();
    this.#earlier = this.#countedNatively();
  }

  /** Number of requests answered from the cache since the server first listened. */
  #hits(): number {
    const { caches, cache } = this.#server;
    return this.#earlierHits + (caches ? (cache.stats()?.hits ?? 0) : 0);
  }

  /** Counters of the reactor since the server first listened. */
  #countedNatively(): NativeCounts {
    const { lost, moved, relayed, unowned, refused, timedOut, unusual, http2 } = this.#earlier;
    const { id } = this.#server;
    if (id < 0) return this.#earlier;
    const now = native.stackCounts(id);
    return {
      lost: lost + now.lost,
      moved: moved + now.moved,
      relayed: relayed + now.relayed,
      unowned: unowned + now.unowned,
      refused: refused + now.refused,
      timedOut: timedOut + now.timedOut,
      unusual: addReasons(unusual, now.unusual),
      http2: { ...now.http2, ...addReasons(http2, now.http2) },
    };
  }
}

/** Adds up counters by name. */
function addReasons(counts: object, more: object): Record<string, number> {
  const sum: Record<string, number> = { ...counts };
  for (const [reason, count] of Object.entries(more)) sum[reason] = (sum[reason] ?? 0) + count;
  return sum;
}
