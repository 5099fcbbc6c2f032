import { subscribe } from 'node:diagnostics_channel';
import type { Dispatcher, Pool } from 'undici';
import { MAX_TIMER_MS } from '../outbound/clock.js';
import { readInternal } from '../outbound/undici-internals.js';
import type { UndiciResponse } from './response.js';
import { type LimitedRequest, type PhaseLimits, TryLimits } from './try-limits.js';

/** Numbers of connections and requests of an origin. */
export interface PoolCounts {
  connected: number;
  free: number;
  queued: number;
  running: number;
}

/** The fields of undici's request that are used here. */
interface UndiciRequest extends LimitedRequest {
  aborted: boolean;
  completed: boolean;
  onError(error: unknown): void;
}

/** A call that was passed to undici. */
interface PooledCall {
  readonly signal: AbortSignal;
  readonly limits: TryLimits;
  request: UndiciRequest | null;
  /** Called when its request is over. */
  release(): void;
}

/** A call that waits for permits. */
interface Waiter {
  permits: number;
  grant(): void;
}

/**
 * A semaphore over the connections to one origin, and the queue of calls that wait for a permit. They are queued
 * here, since undici would send a call whose time is over from its own queue to a connection all the same, and close
 * that connection.
 */
export class OriginPool {
  readonly #host: string;
  readonly #pool: Pool;
  readonly #maxPermits: number;
  readonly #onUnused: () => void;
  #usedPermits = 0;
  /** Waiting calls, in order of arrival. */
  readonly #queue = new Set<Waiter>();
  /** Keeps the process alive while calls wait: a connection whose response nobody reads does not. */
  #waiting: NodeJS.Timeout | null = null;
  /** The call that is being passed to undici. */
  #dispatching: PooledCall | null = null;

  /**
   * `permits` is the maximum number of requests on connections at once; `onUnused` is called when nothing is left of
   * the pool.
   */
  constructor(host: string, pool: Pool, permits: number, onUnused: () => void) {
    this.#host = host;
    this.#pool = pool;
    this.#maxPermits = permits;
    this.#onUnused = onUnused;
    // Not with `compose`, which wraps the handler by which deadlines recognize the request as exempt.
    const dispatch = pool.dispatch.bind(pool);
    pool.dispatch = (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
      if (this.#dispatching !== null) {
        callsByHandler.set(handler, this.#dispatching);
        onHandlerEnd(handler, this.#dispatching.release);
      }
      this.#dispatching = null;
      return dispatch(options, handler);
    };
    subscribeToRequests();
    pool.on('disconnect', () => this.#checkUse());
  }

  /**
   * Makes a request as soon as it has its permits: one, or all of a connection if it must not share it. Rejects with
   * the reason of `signal` if that aborts first.
   */
  async request(
    options: Dispatcher.RequestOptions<unknown>,
    permits: number,
    signal: AbortSignal,
    phases: PhaseLimits,
  ): Promise<UndiciResponse> {
    await this.#acquire(permits, signal);
    const limits = new TryLimits(this.#host, phases);
    let isReleased = false;
    const onAbort = () => cancelPending(call);
    const release = () => {
      limits.end();
      signal.removeEventListener('abort', onAbort);
      if (!isReleased) this.#release(permits);
      isReleased = true;
    };
    const call: PooledCall = { signal, limits, request: null, release };
    try {
      signal.throwIfAborted();
      this.#dispatching = call;
      const response = this.#pool.request({ ...options, signal });
      signal.addEventListener('abort', onAbort, { once: true });
      const answered = await response;
      limits.onHeaders();
      return answered;
    } catch (error) {
      release();
      throw error;
    }
  }

  counts(): PoolCounts {
    const { connected, free, pending, queued, running } = this.#pool.stats;
    return { connected, free, queued: this.#queue.size + pending + queued, running };
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  destroy(error: Error): Promise<void> {
    return this.#pool.destroy(error);
  }

  async #acquire(permits: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#queue.size === 0 && this.#usedPermits + permits <= this.#maxPermits) {
      this.#usedPermits += permits;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const waiter = {
        permits,
        grant() {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      const onAbort = () => {
        this.#leaveQueue(waiter);
        // It may have blocked calls behind it that need fewer permits.
        this.#drainQueue();
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#queue.add(waiter);
      this.#waiting ??= setInterval(() => {}, MAX_TIMER_MS);
    });
  }

  #leaveQueue(waiter: Waiter): void {
    this.#queue.delete(waiter);
    if (this.#queue.size > 0 || this.#waiting === null) return;
    clearInterval(this.#waiting);
    this.#waiting = null;
  }

  #release(permits: number): void {
    this.#usedPermits -= permits;
    this.#drainQueue();
    this.#checkUse();
  }

  #drainQueue(): void {
    for (const next of this.#queue) {
      if (this.#usedPermits + next.permits > this.#maxPermits) return;
      this.#leaveQueue(next);
      this.#usedPermits += next.permits;
      next.grant();
    }
  }

  #checkUse(): void {
    if (this.#usedPermits === 0 && this.#pool.stats.connected === 0) this.#onUnused();
  }
}

/**
 * Methods of a handler; one of them is called last: when the response has arrived in full, read or not, or has
 * failed.
 */
const END_METHODS = ['onComplete', 'onError', 'onResponseEnd', 'onResponseError'] as const;

function onHandlerEnd(handler: Dispatcher.DispatchHandler, then: () => void): void {
  for (const name of END_METHODS) {
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

/** Calls by undici's handler: undici may queue a call before a connection is open, and create its request later. */
const callsByHandler = new WeakMap<object, PooledCall>();
let isListening = false;

function subscribeToRequests(): void {
  if (isListening) return;
  isListening = true;
  subscribe('undici:request:create', (message) => {
    const { request } = message as { request: UndiciRequest };
    const call = callsByHandler.get(Object(readInternal(request, 'handler')));
    if (call === undefined) return;
    call.request = request;
    call.limits.onRequest(request);
    if (call.signal.aborted) cancelPending(call);
  });
}

/** Ends a request that waits for its connection to open; undici itself ends those on a connection. */
function cancelPending({ request, signal }: PooledCall): void {
  if (!request || request.abort || request.aborted || request.completed) return;
  request.onError(signal.reason);
}
