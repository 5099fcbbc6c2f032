import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequests } from '../outbound/client-requests.cjs';
import type { TcpExchanges } from '../outbound/tcp-exchanges.cjs';
import { ignoreErrors, now } from '../runtime/clock.cjs';
import { Operation } from './operation.cjs';
import type { OutboundCall } from './tracked-request.cjs';
import type { WaitTracker } from './wait-tracker.cjs';

interface UndiciMessage {
  request: { origin?: unknown };
}

interface Handle {
  getAsyncId(): number;
}

/** The last time at which bytes were written to a connection, and its peer. */
export interface Asked {
  target: string;
  askedAt: number;
}

/** Tells a tracker which requests make outbound calls, and in which phase these are. */
export class OutboundWaits {
  readonly #tracker: WaitTracker;
  readonly #clientRequests: ClientRequests;
  readonly #exchanges: TcpExchanges;
  readonly #operations = new WeakMap<object, Operation>();
  readonly #calls = new WeakMap<object, OutboundCall>();
  readonly #asked = new WeakMap<object, Asked>();
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
    this.#tracker.findAsked = (handle) => this.#asked.get(handle);
    const onCall: ClientRequests['onCall'] = (request, origin) => {
      const { current } = this.#tracker;
      if (!current) return;
      current.call = { origin, stack: this.#tracker.capture(onCall as () => void) };
      this.#calls.set(request, current.call);
    };
    this.#clientRequests.onCall = onCall;
    this.#exchanges.onWrite = (socket, target) => {
      const { _handle: handle } = socket as unknown as { _handle?: Handle | null };
      if (!handle) return;
      this.#tracker.expect(handle.getAsyncId(), target);
      const asked = this.#asked.get(handle);
      if (asked) asked.askedAt = now();
      else this.#asked.set(handle, { target, askedAt: now() });
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
    const operation = new Operation(String(request.origin), now());
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
