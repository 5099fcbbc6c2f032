import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequests } from '../outbound/client-requests.cjs';
import type { TcpExchanges } from '../outbound/tcp-exchanges.cjs';
import { ignoreErrors, now } from '../runtime/clock.cjs';
import { Operation } from './operation.cjs';
import type { Asked, OutboundCall } from './tracked-request.cjs';
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

/** Functions of `fetch` and undici that may be between the service's own call and the request. */
const UNDICI_DEPTH = 30;

/** Tells a tracker which requests make outbound calls, and in which phase these are. */
export class OutboundWaits {
  readonly #tracker: WaitTracker;
  readonly #clientRequests: ClientRequests;
  readonly #exchanges: TcpExchanges;
  readonly #operations = new WeakMap<object, Operation>();
  readonly #calls = new WeakMap<object, OutboundCall>();
  readonly #asked = new WeakMap<object, LastAsked>();
  readonly #listeners: [channel: string, listener: (message: unknown) => void][] = [
    ['undici:request:create', ignoreErrors((message) => this.#begin(message as UndiciMessage))],
    this.#on('undici:client:sendHeaders', 'answer'),
    this.#on('undici:request:headers', 'body'),
    this.#on('undici:request:trailers', ''),
    this.#on('undici:request:error', ''),
  ];

  constructor(tracker: WaitTracker, clientRequests: ClientRequests, exchanges: TcpExchanges) {
    this.#tracker = tracker;
    this.#clientRequests = clientRequests;
    this.#exchanges = exchanges;
  }

  start(): void {
    for (const [channel, listener] of this.#listeners) subscribe(channel, listener);
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
      if (!handle || call) return;
      const peer = target === '' && handle.constructor.name === 'Pipe' ? 'a Unix socket' : target;
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

  #begin({ request }: UndiciMessage): void {
    const { current } = this.#tracker;
    if (!current) return;
    const origin = String(request.origin);
    const operation = new Operation(origin, now());
    current.call = { origin, stack: this.#tracker.capture(UNDICI_DEPTH) };
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
