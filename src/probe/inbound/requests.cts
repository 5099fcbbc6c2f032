import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { nextTick, now } from '../runtime/clock.cjs';
import type { Arrival, PortFilter } from './port-filter.cjs';
import { type Route, Routes } from './routes.cjs';

const START = 'http.server.request.start';
const FINISH = 'http.server.response.finish';

interface Message extends Arrival {
  response: ServerResponse;
}

interface Exchange {
  route: Route;
  startedAt: number;
}

/** A request held the loop, from one time to another. */
export type Held = (route: Route, from: number, to: number) => void;

/**
 * The requests that the servers under study get in this process, by Node's diagnostics channels.
 *
 * A handler's synchronous part reaches from the request's start to the moment when all next ticks and promise
 * callbacks that were ready have run: till then nothing else can. A microtask that is queued before the handler
 * queues a next tick, and Node runs that one when no microtask is left.
 */
export class Requests {
  readonly counters = { begun: 0, ended: 0, aborted: 0, inFlightMs: 0, handlerMs: 0 };
  readonly routes = new Routes();
  /** Sum of the synchronous parts. */
  syncMs = 0;
  #spinMs = 0;
  #observes = false;
  readonly #studied: PortFilter;
  readonly #onHeld: Held;
  /** Every response that is due: few, and each leaves when it has ended or in the next `sweep`. */
  readonly #open = new Map<ServerResponse, Exchange>();
  #changedAt = now();
  #running: Exchange | null = null;
  #runningSince = 0;
  #marked = false;

  constructor(studied: PortFilter, onHeld: Held) {
    this.#studied = studied;
    this.#onHeld = onHeld;
  }

  observe(on: boolean): void {
    if (on === this.#observes) return;
    this.#count(now());
    this.#observes = on;
    this.#running = null;
    this.#open.clear();
    if (on) subscribe(FINISH, this.#onFinish);
    else unsubscribe(FINISH, this.#onFinish);
    this.#listen();
  }

  spin(microseconds: number): void {
    this.#spinMs = microseconds / 1000;
    this.#listen();
  }

  #listen(): void {
    unsubscribe(START, this.#onStart);
    if (this.#observes || this.#spinMs > 0) subscribe(START, this.#onStart);
  }

  /** Brings the integral up to the given time, and takes out what ended without a word: aborted requests. */
  sweep(at: number): void {
    for (const [response, exchange] of this.#open) {
      if (response.destroyed) this.#end(response, exchange, at, true);
    }
    this.#count(at);
  }

  readonly #onStart = (message: unknown) => {
    try {
      const from = now();
      if (!this.#studied.covers(message as Message)) return;
      if (this.#observes) this.#begin(message as Message, from);
      if (this.#spinMs > 0) while (now() - from < this.#spinMs);
    } catch {
      // An application's own objects may be anything.
    }
  };

  readonly #onFinish = (message: unknown) => {
    try {
      const { response } = message as Message;
      const exchange = this.#open.get(response);
      if (exchange) this.#end(response, exchange, now(), false);
    } catch {
      // As above.
    }
  };

  #begin({ request, response }: Message, at: number): void {
    this.#count(at);
    this.#release(at);
    const route = this.routes.of(request.method ?? '', request.url ?? '');
    const exchange = { route, startedAt: at };
    this.#open.set(response, exchange);
    this.counters.begun++;
    this.#running = exchange;
    this.#runningSince = at;
    if (!this.#marked) {
      this.#marked = true;
      ready.then(this.#afterFirstMicrotask);
    }
  }

  #end(response: ServerResponse, { route, startedAt }: Exchange, at: number, aborted: boolean) {
    this.#count(at);
    this.#open.delete(response);
    const ms = at - startedAt;
    this.counters.ended++;
    if (aborted) this.counters.aborted++;
    this.counters.handlerMs += ms;
    route.ended(ms);
  }

  #count(at: number): void {
    this.counters.inFlightMs += this.#open.size * (at - this.#changedAt);
    this.#changedAt = at;
  }

  readonly #afterFirstMicrotask = () => nextTick(this.#drained);

  readonly #drained = () => {
    this.#marked = false;
    try {
      this.#release(now());
    } catch {
      // As above.
    }
  };

  /** The request that ran, if one did, holds the loop no more. Behind a pipelined one the next starts at once. */
  #release(at: number): void {
    const exchange = this.#running;
    if (!exchange) return;
    this.#running = null;
    const ms = at - this.#runningSince;
    this.syncMs += ms;
    exchange.route.held(ms);
    this.#onHeld(exchange.route, this.#runningSince, at);
  }
}

const ready = Promise.resolve();
