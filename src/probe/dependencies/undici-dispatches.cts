import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ignoreErrors } from '../runtime/clock.cjs';
import type { Handler } from './dispatch-handlers.cjs';
import { readSymbol } from './symbol-properties.cjs';

const CONNECTED = 'undici:client:connected';
/** The connections that are open already are seen when they are used. */
const SENT = 'undici:client:sendHeaders';

export interface DispatchOptions {
  origin?: string | URL;
  path: string;
  method: string;
  query?: Record<string, unknown>;
  body?: unknown;
  headers?: unknown;
  upgrade?: unknown;
  expectContinue?: boolean;
}

/** A call that a dispatcher (an agent, a pool, a client) is given. */
export interface DispatchCall {
  dispatcher: object;
  options: DispatchOptions;
  handler: Handler;
}

/**
 * Receives each call and passes it on with its handler or another one, by `dispatch`, whose result it returns. An agent passes
 * a call on to a pool, and that to a client, now or when one is free: so it receives a call several times, from a pool
 * to a client with the same options. Must not throw anything of its own: the application would get it.
 */
export type DispatchInterceptor = (
  call: DispatchCall,
  dispatch: (handler: Handler) => boolean,
) => boolean;

type Dispatch = (this: object, options: DispatchOptions, handler: Handler) => boolean;
type Dispatcher = { dispatch: Dispatch };

/**
 * The calls of `fetch` and undici. Each copy of undici has a class whose `dispatch` all calls pass; a connection reveals
 * it. It is replaced while something intercepts the calls.
 */
export class UndiciDispatches {
  readonly #interceptors = new Set<DispatchInterceptor>();
  readonly #originals = new Map<Dispatcher, Dispatch | null>();
  readonly #patched = new WeakMap<Dispatcher, Dispatch>();
  /** The connections that have been looked at. */
  readonly #sockets = new WeakSet<object>();

  constructor() {
    // From the start: a service may open its connections before it serves.
    subscribe(CONNECTED, this.#onConnected);
  }

  /** Lets a function receive all calls from now on, or no longer. */
  intercept(interceptor: DispatchInterceptor, on: boolean): void {
    if (on) this.#interceptors.add(interceptor);
    else this.#interceptors.delete(interceptor);
    unsubscribe(SENT, this.#onConnected);
    if (this.#interceptors.size > 0) subscribe(SENT, this.#onConnected);
    for (const dispatcher of this.#originals.keys()) this.#update(dispatcher);
  }

  /** Undoes all changes. */
  restore(): void {
    for (const channel of [CONNECTED, SENT]) unsubscribe(channel, this.#onConnected);
    this.#interceptors.clear();
    for (const dispatcher of this.#originals.keys()) this.#update(dispatcher);
    this.#originals.clear();
  }

  readonly #onConnected = ignoreErrors((message: unknown) => {
    const { socket } = message as { socket?: object };
    if (!socket || this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    const client = readSymbol(socket, 'client');
    const dispatcher = findOwner(client);
    if (dispatcher === null || this.#originals.has(dispatcher)) return;
    this.#originals.set(dispatcher, null);
    this.#update(dispatcher);
  });

  #update(dispatcher: Dispatcher): void {
    const original = this.#originals.get(dispatcher);
    if (this.#interceptors.size > 0) {
      if (!original) this.#patch(dispatcher);
      return;
    }
    // Code that has wrapped it meanwhile keeps calling it.
    if (!original || dispatcher.dispatch !== this.#patched.get(dispatcher)) return;
    dispatcher.dispatch = original;
    this.#originals.set(dispatcher, null);
  }

  #patch(dispatcher: Dispatcher): void {
    const original = dispatcher.dispatch;
    const interceptors = this.#interceptors;
    const patched: Dispatch = function dispatch(options, handler) {
      let send = (passed: Handler): boolean => original.call(this, options, passed);
      for (const interceptor of interceptors) {
        const next = send;
        send = (passed) => interceptor({ dispatcher: this, options, handler: passed }, next);
      }
      return send(handler);
    };
    this.#originals.set(dispatcher, original);
    this.#patched.set(dispatcher, patched);
    dispatcher.dispatch = patched;
  }
}

/** Finds the prototype that has a client's `dispatch`. */
function findOwner(client: unknown): Dispatcher | null {
  let prototype: object | null = typeof client === 'object' ? client : null;
  while (prototype !== null && !Object.hasOwn(prototype, 'dispatch'))
    prototype = Object.getPrototypeOf(prototype);
  return prototype as Dispatcher | null;
}
