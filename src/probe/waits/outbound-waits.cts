import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Handler } from '../dependencies/dispatch-handlers.cjs';
import { readSymbol } from '../dependencies/symbol-properties.cjs';
import type {
  DispatchCall,
  DispatchInterceptor,
  UndiciDispatches,
} from '../dependencies/undici-dispatches.cjs';
import type { ProbeObserver } from '../observer.cjs';
import type { ClientRequests } from '../outbound/client-requests.cjs';
import type { TcpExchanges } from '../outbound/tcp-exchanges.cjs';
import { ignoreErrors, now } from '../runtime/clock.cjs';
import { Operation } from './operation.cjs';
import type { Asked, OutboundCall, TrackedRequest } from './tracked-request.cjs';
import type { WaitTracker } from './wait-tracker.cjs';

interface UndiciMessage {
  request: { origin?: unknown };
}

interface SocketInternals {
  _handle?: { getAsyncId(): number } | null;
  /** The request of `node:http` that is sent on it. */
  _httpMessage?: unknown;
}

/** The last question on a connection, the callback that wrote it, and when the one before was written. */
interface LastAsked extends Asked {
  callback: number;
  askedBefore: number;
}

/** A call in the queue of a pool: the request whose code made it, and where; `null` if that is not tracked. */
interface QueuedCall {
  request: TrackedRequest | null;
  call: OutboundCall | null;
}

/** Functions of `fetch` and undici that may be between the service's own call and the request. */
const UNDICI_DEPTH = 30;

/** Tells a tracker which requests make outbound calls, and in which phase these are. */
export class OutboundWaits {
  readonly #tracker: WaitTracker;
  readonly #clientRequests: ClientRequests;
  readonly #dispatches: UndiciDispatches;
  readonly #exchanges: TcpExchanges;
  /** The calls of undici that wait in the queue of a pool, by their handlers. */
  readonly #queued = new WeakMap<Handler, QueuedCall>();
  /** The call that a pool takes from its queue now. */
  #queuedCall: OutboundCall | null = null;
  /** Number of requests of undici that were created, and of calls that were added to `#queued`. */
  #created = 0;
  #added = 0;
  readonly #operations = new WeakMap<object, Operation>();
  readonly #calls = new WeakMap<object, OutboundCall>();
  readonly #asked = new WeakMap<object, LastAsked>();
  readonly #listeners: [channel: string, listener: (message: unknown) => void][] = [
    ['undici:request:create', ignoreErrors((message) => this.#begin(message as UndiciMessage))],
    this.#on('undici:client:sendHeaders', 'answer'),
    // Of HTTP/2, older versions of undici report only this.
    [
      'undici:request:bodySent',
      ignoreErrors((message) => this.#onBodySent(message as UndiciMessage)),
    ],
    this.#on('undici:request:headers', 'body'),
    this.#on('undici:request:trailers', ''),
    this.#on('undici:request:error', ''),
  ];

  constructor(
    tracker: WaitTracker,
    {
      clientRequests,
      dispatches,
      exchanges,
    }: Pick<ProbeObserver, 'clientRequests' | 'dispatches' | 'exchanges'>,
  ) {
    this.#tracker = tracker;
    this.#clientRequests = clientRequests;
    this.#dispatches = dispatches;
    this.#exchanges = exchanges;
  }

  start(): void {
    for (const [channel, listener] of this.#listeners) subscribe(channel, listener);
    this.#dispatches.intercept(this.#dispatch, true);
    this.#tracker.findCall = (handle) => {
      const request = findClientRequest(handle);
      return request && this.#calls.get(request);
    };
    this.#tracker.findAsked = (handle) => {
      const asked = this.#asked.get(handle);
      // The callback that takes an answer may have written the next question already.
      const isNext = asked?.callback === this.#tracker.callbacks;
      return asked && isNext ? { ...asked, askedAt: asked.askedBefore } : asked;
    };
    this.#clientRequests.onCall = (request, origin) => {
      const { current } = this.#tracker;
      if (!current) return;
      current.call = { origin, stack: this.#tracker.capture() };
      this.#calls.set(request, current.call);
    };
    this.#exchanges.onWrite = (socket, target) => {
      const { _handle: handle, _httpMessage: call } = socket as unknown as SocketInternals;
      const kind = handle?.constructor.name;
      // What is written to the standard output of a process has no answer.
      if (!handle || call || !socket.readable || kind === 'TTY') return;
      const peer = target === '' && kind === 'Pipe' ? 'a Unix socket' : target;
      this.#tracker.expect(handle.getAsyncId(), peer);
      const asked = this.#asked.get(handle);
      const askedAt = now();
      const { callbacks: callback } = this.#tracker;
      const askedBefore = asked?.callback === callback ? asked.askedBefore : asked?.askedAt;
      this.#asked.set(handle, {
        target: peer,
        askedAt,
        callback,
        askedBefore: askedBefore ?? askedAt,
      });
    };
  }

  stop(): void {
    for (const [channel, listener] of this.#listeners) unsubscribe(channel, listener);
    this.#dispatches.intercept(this.#dispatch, false);
    this.#clientRequests.onCall = null;
    this.#exchanges.onWrite = null;
  }

  #on(
    channel: string,
    phase: Parameters<Operation['enter']>[0],
  ): [channel: string, listener: (message: unknown) => void] {
    const enter = ({ request }: UndiciMessage) =>
      this.#operations.get(request)?.enter(phase, now());
    return [channel, ignoreErrors((message: unknown) => enter(message as UndiciMessage))];
  }

  #onBodySent({ request }: UndiciMessage): void {
    const operation = this.#operations.get(request);
    if (operation?.isQueued) operation.enter('answer', now());
  }

  /** A pool passes on a call that has waited in the context of the one that has ended: it is still its caller's. */
  readonly #dispatch: DispatchInterceptor = (call, dispatch) => {
    const { handler } = call;
    const queued = this.#queued.get(handler);
    if (queued === undefined) return this.#dispatchFirst(call, dispatch);
    this.#queued.delete(handler);
    this.#queuedCall = queued.call;
    try {
      return this.#tracker.runAs(queued.request, () => dispatch(handler));
    } finally {
      this.#queuedCall = null;
    }
  };

  #dispatchFirst(call: DispatchCall, dispatch: (handler: Handler) => boolean): boolean {
    const before = this.#created + this.#added;
    const isReady = dispatch(call.handler);
    if (this.#created + this.#added === before) this.#addQueued(call);
    return isReady;
  }

  /** A dispatcher has created no request for a call, nor has an inner one added it: it is in a queue. */
  readonly #addQueued = ignoreErrors(({ dispatcher, options, handler }: DispatchCall): void => {
    const { current } = this.#tracker;
    if (current) {
      const origin = String(options.origin ?? readSymbol(dispatcher, 'url') ?? '');
      current.call = { origin, stack: this.#tracker.capture(UNDICI_DEPTH) };
    }
    this.#queued.set(handler, { request: current, call: current?.call ?? null });
    this.#added++;
  });

  #begin({ request }: UndiciMessage): void {
    this.#created++;
    const { current } = this.#tracker;
    if (!current) return;
    const origin = String(request.origin);
    const operation = new Operation(origin, now());
    current.call = this.#queuedCall ?? { origin, stack: this.#tracker.capture(UNDICI_DEPTH) };
    current.operations.add(operation);
    this.#operations.set(request, operation);
  }
}

/** Finds the request that Node.js sends on a connection, by internal properties. */
function findClientRequest(handle: object): object | undefined {
  const owner = Object.getOwnPropertySymbols(handle).find(
    ({ description }) => description === 'owner_symbol' || description === 'owner',
  );
  const socket = owner && (handle as Record<symbol, unknown>)[owner];
  const { _httpMessage: request } = (socket ?? {}) as { _httpMessage?: unknown };
  return typeof request === 'object' && request !== null ? request : undefined;
}
