import { DatabasePools } from './dependencies/database-pools.cjs';
import { OutboundMemory } from './dependencies/outbound-memory.cjs';
import { UndiciDispatches } from './dependencies/undici-dispatches.cjs';
import { Cork } from './inbound/cork.cjs';
import { Http2Streams } from './inbound/http2-streams.cjs';
import { LoopStalls } from './inbound/loop-stalls.cjs';
import { PortFilter } from './inbound/port-filter.cjs';
import { Requests } from './inbound/requests.cjs';
import { Calls } from './outbound/calls.cjs';
import { ClientRequests } from './outbound/client-requests.cjs';
import { Fetches } from './outbound/fetches.cjs';
import { TcpExchanges } from './outbound/tcp-exchanges.cjs';
import { UndiciPools } from './outbound/undici-pools.cjs';
import type { ProbeSample } from './protocol.cjs';
import { now, toMonotonic } from './runtime/clock.cjs';
import { readLoopTimes } from './runtime/event-loop.cjs';
import { GarbageCollections } from './runtime/gc.cjs';
import { readMemoryUsage } from './runtime/memory-usage.cjs';
import type { SynchronousWrites } from './runtime/synchronous-writes.cjs';
import { ThreadPool } from './runtime/threadpool.cjs';

/** Number of samples per reading of memory and resources, and in production, where samples are rare. */
const [SAMPLES_PER_MEMORY_READING, SPARING_SAMPLES] = [5, 1];

/** All observers of a serving process, and their samples. */
export class ProbeObserver {
  readonly portFilter = new PortFilter();
  readonly requests: Requests;
  readonly clientRequests: ClientRequests;
  readonly #output: SynchronousWrites;
  readonly #collections = new GarbageCollections();
  readonly #stalls: LoopStalls;
  readonly #calls = new Calls();
  readonly fetches: Fetches;
  readonly undiciPools: UndiciPools;
  readonly exchanges: TcpExchanges;
  readonly databasePools = new DatabasePools();
  readonly dispatches = new UndiciDispatches();
  readonly memory: OutboundMemory;
  readonly cork = new Cork();
  readonly http2Streams = new Http2Streams();
  readonly #pool = new ThreadPool();
  readonly #samplesPerMemoryReading: number;
  #samples = 0;

  /** @param isSparing whether it has to cost as little as possible, in production */
  constructor(output: SynchronousWrites, isSparing: boolean) {
    this.#samplesPerMemoryReading = isSparing ? SPARING_SAMPLES : SAMPLES_PER_MEMORY_READING;
    this.#output = output;
    this.requests = new Requests(this.portFilter, ({ name }, from, to) =>
      this.#stalls.addSynchronousPart(name, from, to),
    );
    this.#stalls = new LoopStalls(this.requests, this.#collections, isSparing);
    this.clientRequests = new ClientRequests(this.#calls);
    this.memory = new OutboundMemory(this.clientRequests.memory, this.dispatches);
    this.fetches = new Fetches(this.#calls);
    this.undiciPools = new UndiciPools(this.#calls);
    this.exchanges = new TcpExchanges(this.#calls);
  }

  observe(on: boolean): void {
    this.#output.isObserving = on;
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

  /** Takes a sample: all counters, and the parts that changed since the last sample. */
  sample(): ProbeSample {
    const at = now();
    this.requests.sweep(at);
    this.clientRequests.sweep();
    this.fetches.sweep();
    this.exchanges.sweep();
    this.undiciPools.sweep();
    const sample: ProbeSample = {
      type: 'sample',
      at: toMonotonic(at),
      counters: {
        ...readLoopTimes(),
        ...this.requests.counters,
        ...this.requests.errorStatuses,
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
      memory:
        this.#samples++ % this.#samplesPerMemoryReading === 0
          ? readMemoryUsage(this.#collections.heapAfterOld)
          : null,
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
