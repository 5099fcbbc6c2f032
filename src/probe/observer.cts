import { Calls } from './calls.cjs';
import { ClientRequests } from './client-requests.cjs';
import { now, toMonotonic } from './clock.cjs';
import { Collections } from './collections.cjs';
import { Cork } from './cork.cjs';
import { Exchanges } from './exchanges.cjs';
import { Fetches } from './fetches.cjs';
import { levels } from './levels.cjs';
import { loopAccount } from './loop.cjs';
import type { Output } from './output.cjs';
import { Pool } from './pool.cjs';
import type { Sample } from './protocol.cjs';
import { Requests } from './requests.cjs';
import { Stalls } from './stalls.cjs';
import { Studied } from './studied.cjs';
import { UndiciPools } from './undici-pools.cjs';

/** Samples between two looks at memory and resources. */
const LEVELS_EVERY = 5;

/** All that is observed in a process that serves, and its samples. */
export class Observer {
  readonly studied = new Studied();
  readonly requests: Requests;
  readonly clientRequests: ClientRequests;
  readonly #output: Output;
  readonly #collections = new Collections();
  readonly #stalls: Stalls;
  readonly #calls = new Calls();
  readonly fetches: Fetches;
  readonly undiciPools: UndiciPools;
  readonly exchanges: Exchanges;
  readonly cork = new Cork();
  readonly #pool = new Pool();
  #samples = 0;

  constructor(output: Output) {
    this.#output = output;
    this.requests = new Requests(this.studied, ({ name }, from, to) =>
      this.#stalls.requestHeld(name, from, to),
    );
    this.#stalls = new Stalls(this.requests, this.#collections);
    this.clientRequests = new ClientRequests(this.#calls);
    this.fetches = new Fetches(this.#calls);
    this.undiciPools = new UndiciPools(this.#calls);
    this.exchanges = new Exchanges(this.#calls);
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
      levels: this.#samples++ % LEVELS_EVERY === 0 ? levels(this.#collections.heapAfterOld) : null,
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
