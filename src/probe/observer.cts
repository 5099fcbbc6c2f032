import { Cork } from './inbound/cork.cjs';
import { LoopStalls } from './inbound/loop-stalls.cjs';
import { PortFilter } from './inbound/port-filter.cjs';
import { Requests } from './inbound/requests.cjs';
import { Calls } from './outbound/calls.cjs';
import { ClientRequests } from './outbound/client-requests.cjs';
import { Fetches } from './outbound/fetches.cjs';
import { TcpExchanges } from './outbound/tcp-exchanges.cjs';
import { UndiciPools } from './outbound/undici-pools.cjs';
import type { Sample } from './protocol.cjs';
import { now, toMonotonic } from './runtime/clock.cjs';
import { loopAccount } from './runtime/event-loop.cjs';
import { GarbageCollections } from './runtime/gc.cjs';
import { memoryUsage } from './runtime/memory-usage.cjs';
import type { SynchronousWrites } from './runtime/synchronous-writes.cjs';
import { ThreadPool } from './runtime/threadpool.cjs';

/** Samples between two looks at memory and resources. */
const LEVELS_EVERY = 5;

/** All that is observed in a process that serves, and its samples. */
export class Observer {
  readonly studied = new PortFilter();
  readonly requests: Requests;
  readonly clientRequests: ClientRequests;
  readonly #output: SynchronousWrites;
  readonly #collections = new GarbageCollections();
  readonly #stalls: LoopStalls;
  readonly #calls = new Calls();
  readonly fetches: Fetches;
  readonly undiciPools: UndiciPools;
  readonly exchanges: TcpExchanges;
  readonly cork = new Cork();
  readonly #pool = new ThreadPool();
  #samples = 0;

  constructor(output: SynchronousWrites) {
    this.#output = output;
    this.requests = new Requests(this.studied, ({ name }, from, to) =>
      this.#stalls.requestHeld(name, from, to),
    );
    this.#stalls = new LoopStalls(this.requests, this.#collections);
    this.clientRequests = new ClientRequests(this.#calls);
    this.fetches = new Fetches(this.#calls);
    this.undiciPools = new UndiciPools(this.#calls);
    this.exchanges = new TcpExchanges(this.#calls);
  }

  observe(on: boolean): void {
    this.#output.observes = on;
    for (const part of [
      this.requests,
      this.#collections,
      this.#stalls,
      this.clientRequests,
      this.fetches,
      this.exchanges,
    ]) {
      part.observe(on);
    }
  }

  /** All counters as they are, and what changed since the last sample. */
  sample(): Sample {
    const at = now();
    this.requests.sweep(at);
    this.clientRequests.sweep();
    this.fetches.sweep();
    this.exchanges.sweep();
    this.undiciPools.sweep();
    const sample: Sample = {
      type: 'sample',
      at: toMonotonic(at),
      counters: {
        ...loopAccount(),
        ...this.requests.counters,
        ...this.#collections.counters,
        ...this.#pool.counters,
        ...this.#stalls.counters,
        ...this.#output.counters,
      },
      longest: {
        gcMs: this.#collections.longestMs,
        poolMs: this.#pool.longestMs,
        stallMs: this.#stalls.longestMs,
      },
      levels:
        this.#samples++ % LEVELS_EVERY === 0 ? memoryUsage(this.#collections.heapAfterOld) : null,
      routes: this.requests.routes.read(),
      outbound: this.#calls.read(at),
      stalls: this.#stalls.read(),
    };
    this.#collections.longestMs = 0;
    this.#pool.longestMs = 0;
    this.#stalls.longestMs = 0;
    this.#pool.sample();
    return sample;
  }
}
