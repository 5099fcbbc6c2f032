import { subscribe } from 'node:diagnostics_channel';
import type { Dispatcher, Pool } from 'undici';
import type { Answer } from './response.js';

/** How an origin's connections stand. */
export interface PoolCounts {
  connected: number;
  free: number;
  queued: number;
  running: number;
}

/** A request as undici has it, from the moment that it is given to it. */
interface Given {
  /** There once it is on a connection. */
  abort?: unknown;
  aborted: boolean;
  completed: boolean;
  onError(error: unknown): void;
}

/** A call in the queue. */
interface Waiting {
  places: number;
  enter(): void;
}

/**
 * The connections to one origin, and the calls that wait for a place on one. They wait here: undici would take a call
 * whose time is over from its own queue to a connection all the same, and end the connection for it.
 */
export class OriginPool {
  readonly #pool: Pool;
  readonly #places: number;
  readonly #onUnused: () => void;
  #taken = 0;
  /** First come, first served. */
  readonly #waiting = new Set<Waiting>();
  /** Of the request that is given to undici in this moment: what to do at its end. */
  #leave: (() => void) | null = null;

  /** At most `places` requests are on connections at once; `onUnused` is called when nothing is left of it. */
  constructor(pool: Pool, places: number, onUnused: () => void) {
    this.#pool = pool;
    this.#places = places;
    this.#onUnused = onUnused;
    // Not by `compose`, which puts another handler before the one by which the request is known as exempt.
    const dispatch = pool.dispatch.bind(pool);
    pool.dispatch = (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
      if (this.#leave !== null) afterEnd(handler, this.#leave);
      this.#leave = null;
      return dispatch(options, handler);
    };
    pool.on('disconnect', () => this.#checkUse());
  }

  /**
   * Makes a request when there is room for it: a place, or several where it is not to share its connection. Rejects
   * with the reason of `signal` if that comes first.
   */
  async request(
    options: Dispatcher.RequestOptions<unknown>,
    places: number,
    signal: AbortSignal,
  ): Promise<Answer> {
    await this.#enter(places, signal);
    let hasLeft = false;
    let withdraw = () => {};
    const leave = () => {
      signal.removeEventListener('abort', withdraw);
      if (!hasLeft) this.#giveBack(places);
      hasLeft = true;
    };
    try {
      signal.throwIfAborted();
      this.#leave = leave;
      const { result, given } = caught(() => this.#pool.request({ ...options, signal }));
      if (given !== null) {
        withdraw = () => withdrawn(given, signal.reason);
        signal.addEventListener('abort', withdraw, { once: true });
      }
      return await result;
    } catch (error) {
      leave();
      throw error;
    }
  }

  counts(): PoolCounts {
    const { connected, free, pending, queued, running } = this.#pool.stats;
    return { connected, free, queued: this.#waiting.size + pending + queued, running };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  destroy(error: Error): Promise<void> {
    return this.#pool.destroy(error);
  }

  async #enter(places: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#waiting.size === 0 && this.#taken + places <= this.#places) {
      this.#taken += places;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const waiting = {
        places,
        enter() {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      const giveUp = () => {
        this.#waiting.delete(waiting);
        // It may have held up others that need less.
        this.#letIn();
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(waiting);
    });
  }

  #giveBack(places: number): void {
    this.#taken -= places;
    this.#letIn();
    this.#checkUse();
  }

  #letIn(): void {
    for (const next of this.#waiting) {
      if (this.#taken + next.places > this.#places) return;
      this.#waiting.delete(next);
      this.#taken += next.places;
      next.enter();
    }
  }

  #checkUse(): void {
    if (this.#taken === 0 && this.#pool.stats.connected === 0) this.#onUnused();
  }
}

/** Its last one is called when all of the response is here, read or not, or never will be. */
const ENDS = ['onComplete', 'onError', 'onResponseEnd', 'onResponseError'] as const;

function afterEnd(handler: Dispatcher.DispatchHandler, then: () => void): void {
  for (const name of ENDS) {
    const original = handler[name] as ((...args: unknown[]) => unknown) | undefined;
    if (original === undefined) continue;
    Object.assign(handler, {
      [name](...args: unknown[]) {
        then();
        return Reflect.apply(original, handler, args);
      },
    });
  }
}

let catching = false;
let caughtOne: Given | null = null;
let isListening = false;

/** What `make` gives, and the request that undici tells of meanwhile. */
function caught<Result>(make: () => Result): { result: Result; given: Given | null } {
  if (!isListening) {
    subscribe('undici:request:create', (message) => {
      if (catching) caughtOne = (message as { request: Given }).request;
    });
  }
  isListening = true;
  catching = true;
  try {
    return { result: make(), given: caughtOne };
  } finally {
    catching = false;
    caughtOne = null;
  }
}

/** Ends a request that waits for its connection to open; on a connection undici ends it by itself. */
function withdrawn(given: Given, reason: unknown): void {
  if (!given.abort && !given.aborted && !given.completed) given.onError(reason);
}
