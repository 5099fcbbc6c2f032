import { subscribe } from 'node:diagnostics_channel';
import type { Dispatcher, Pool } from 'undici';
import { internal } from '../outbound/undici-internals.js';
import type { Answer } from './response.js';

/** How an origin's connections stand. */
export interface PoolCounts {
  connected: number;
  free: number;
  queued: number;
  running: number;
}

/** A request as undici has it. */
interface Given {
  /** There once it is on a connection. */
  abort?: unknown;
  aborted: boolean;
  completed: boolean;
  onError(error: unknown): void;
}

/** A call that undici has. */
interface GivenCall {
  readonly signal: AbortSignal;
  request: Given | null;
  /** Its request is over. */
  leave(): void;
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
  /** That is given to undici in this moment. */
  #given: GivenCall | null = null;

  /** At most `places` requests are on connections at once; `onUnused` is called when nothing is left of it. */
  constructor(pool: Pool, places: number, onUnused: () => void) {
    this.#pool = pool;
    this.#places = places;
    this.#onUnused = onUnused;
    // Not by `compose`, which puts another handler before the one by which the request is known as exempt.
    const dispatch = pool.dispatch.bind(pool);
    pool.dispatch = (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
      if (this.#given !== null) {
        calls.set(handler, this.#given);
        afterEnd(handler, this.#given.leave);
      }
      this.#given = null;
      return dispatch(options, handler);
    };
    listen();
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
    const onAbort = () => withdraw(call);
    const leave = () => {
      signal.removeEventListener('abort', onAbort);
      if (!hasLeft) this.#giveBack(places);
      hasLeft = true;
    };
    const call: GivenCall = { signal, request: null, leave };
    try {
      signal.throwIfAborted();
      this.#given = call;
      const answer = this.#pool.request({ ...options, signal });
      signal.addEventListener('abort', onAbort, { once: true });
      return await answer;
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

/** By undici's handlers: it may have a queue of its own before a connection is open, and makes its requests later. */
const calls = new WeakMap<object, GivenCall>();
let isListening = false;

function listen(): void {
  if (isListening) return;
  isListening = true;
  subscribe('undici:request:create', (message) => {
    const { request } = message as { request: Given };
    const call = calls.get(Object(internal(request, 'handler')));
    if (call === undefined) return;
    call.request = request;
    if (call.signal.aborted) withdraw(call);
  });
}

/** Ends a request that waits for its connection to open; on a connection undici ends it by itself. */
function withdraw({ request, signal }: GivenCall): void {
  if (!request || request.abort || request.aborted || request.completed) return;
  request.onError(signal.reason);
}
