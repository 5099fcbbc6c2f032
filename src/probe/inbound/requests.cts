import type { Counters } from '../protocol.cjs';
import { every, nextTick, now } from '../runtime/clock.cjs';
import {
  type InboundMessage,
  isAborted,
  subscribeFinish,
  subscribeStart,
  unsubscribeFinish,
  unsubscribeStart,
} from './channels.cjs';
import type { PortFilter } from './port-filter.cjs';
import { type Route, Routes } from './routes.cjs';

type Response = InboundMessage['response'];

const MIN_ERROR_STATUS = 400;
/** Interval at which requests are looked for that were aborted: by so much their times may be too long. */
const SWEEP_MS = 25;
/** Maximum number of open requests that are looked through so often. */
const MAX_SWEPT = 500;

interface OpenRequest {
  route: Route;
  startedAt: number;
  /** Whether no other request has been open at the same time. */
  isAlone: boolean;
}

/** Receives the times between which a request blocked the loop. */
export type OnBlocked = (route: Route, from: number, to: number) => void;

/**
 * Observes incoming requests through diagnostics channels.
 *
 * The synchronous part of a handler lasts from the request's start until all next ticks and promise callbacks that were
 * ready have run; nothing else can run before. A microtask queued before the handler queues a next tick, which Node.js
 * runs when no microtask is left.
 */
export class Requests {
  readonly counters = { begun: 0, ended: 0, aborted: 0, alone: 0, inFlightMs: 0, handlerMs: 0 };
  readonly routes = new Routes();
  /** Responses with an error status, by `status` and that status. There are at most a few hundred. */
  readonly errorStatuses: Counters = {};
  /** Sum of the synchronous parts. */
  syncMs = 0;
  #spinMs = 0;
  #isObserving = false;
  readonly #portFilter: PortFilter;
  readonly #onBlocked: OnBlocked;
  /** Responses that are due. They are few: each is removed when it ends, or in the next `sweep`. */
  readonly #open = new Map<Response, OpenRequest>();
  #changedAt = now();
  #running: OpenRequest | null = null;
  #runningSince = 0;
  #isDrainQueued = false;
  #sweeping: NodeJS.Timeout | null = null;

  constructor(portFilter: PortFilter, onBlocked: OnBlocked) {
    this.#portFilter = portFilter;
    this.#onBlocked = onBlocked;
  }

  observe(on: boolean): void {
    if (on === this.#isObserving) return;
    this.#integrate(now());
    this.#isObserving = on;
    this.#running = null;
    this.#open.clear();
    clearInterval(this.#sweeping ?? undefined);
    this.#sweeping = null;
    if (on) subscribeFinish(this.#onFinish);
    else unsubscribeFinish(this.#onFinish);
    this.#updateSubscription();
  }

  setSpin(microseconds: number): void {
    this.#spinMs = microseconds / 1000;
    this.#updateSubscription();
  }

  #updateSubscription(): void {
    unsubscribeStart(this.#onStart);
    if (this.#isObserving || this.#spinMs > 0) subscribeStart(this.#onStart);
  }

  /** Finds requests that were aborted while some are open, as nothing tells when that happens. */
  readonly #sweepOften = () => {
    // With more, the next sample does it.
    if (this.#open.size <= MAX_SWEPT) this.sweep(now());
    if (this.#open.size > 0) return;
    clearInterval(this.#sweeping ?? undefined);
    this.#sweeping = null;
  };

  /** Updates the integral, and removes requests that were aborted without an event. */
  sweep(at: number): void {
    for (const [response, exchange] of this.#open) {
      if (isAborted(response)) this.#end(response, exchange, at, true);
    }
    this.#integrate(at);
  }

  readonly #onStart = (message: unknown) => {
    try {
      const from = now();
      if (!this.#portFilter.matches(message as InboundMessage)) return;
      if (this.#isObserving) this.#begin(message as InboundMessage, from);
      if (this.#spinMs > 0) while (now() - from < this.#spinMs);
    } catch {
      // The application's objects may be anything.
    }
  };

  readonly #onFinish = (message: unknown) => {
    try {
      const { response } = message as InboundMessage;
      const exchange = this.#open.get(response);
      if (!exchange) return;
      this.#end(response, exchange, now(), false);
      this.#countStatus(response);
    } catch {
      // As above.
    }
  };

  #begin({ request, response }: InboundMessage, at: number): void {
    this.#integrate(at);
    this.#release(at);
    const route = this.routes.find(request.method ?? '', request.url ?? '');
    // Of several open requests none is alone any more.
    if (this.#open.size === 1) for (const one of this.#open.values()) one.isAlone = false;
    const exchange = { route, startedAt: at, isAlone: this.#open.size === 0 };
    this.#open.set(response, exchange);
    this.#sweeping ??= every(SWEEP_MS, this.#sweepOften);
    this.counters.begun++;
    this.#running = exchange;
    this.#runningSince = at;
    if (!this.#isDrainQueued) {
      this.#isDrainQueued = true;
      ready.then(this.#afterFirstMicrotask);
    }
  }

  #end(
    response: Response,
    { route, startedAt, isAlone }: OpenRequest,
    at: number,
    aborted: boolean,
  ): void {
    this.#integrate(at);
    this.#open.delete(response);
    const ms = at - startedAt;
    this.counters.ended++;
    if (aborted) this.counters.aborted++;
    else if (isAlone) this.counters.alone++;
    this.counters.handlerMs += ms;
    route.addResponse(ms);
  }

  #countStatus({ statusCode, sentHeaders }: Response): void {
    const status = Number(statusCode ?? sentHeaders?.[':status']);
    if (!(status >= MIN_ERROR_STATUS)) return;
    const name = `status${status}`;
    this.errorStatuses[name] = (this.errorStatuses[name] ?? 0) + 1;
  }

  #integrate(at: number): void {
    this.counters.inFlightMs += this.#open.size * (at - this.#changedAt);
    this.#changedAt = at;
  }

  readonly #afterFirstMicrotask = () => nextTick(this.#drained);

  readonly #drained = () => {
    this.#isDrainQueued = false;
    try {
      this.#release(now());
    } catch {
      // As above.
    }
  };

  /** Ends the synchronous part of the running request, if there is one. The next pipelined request starts at once. */
  #release(at: number): void {
    const exchange = this.#running;
    if (!exchange) return;
    this.#running = null;
    const ms = at - this.#runningSince;
    this.syncMs += ms;
    exchange.route.addSynchronousPart(ms);
    this.#onBlocked(exchange.route, this.#runningSince, at);
  }
}

const ready = Promise.resolve();
