import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ignoreErrors, timers } from '../runtime/clock.cjs';
import type { Call, Calls } from './calls.cjs';

interface Message {
  request: {
    origin?: unknown;
    method?: unknown;
    upgrade?: unknown;
    aborted?: boolean;
    completed?: boolean;
  };
}

interface ConnectedMessage {
  connectParams: { protocol: string; host: string };
}

/** Outbound calls by `fetch` and undici, through their diagnostics channels. */
export class Fetches {
  readonly #calls: Calls;
  readonly #open = new Map<Message['request'], Call>();
  #delayMs = 0;
  #delayedCalls = 0;
  #originalFetch: typeof fetch | null = null;
  #delayedFetch: typeof fetch | null = null;
  readonly #listeners: [channel: string, listener: (message: unknown) => void][];

  constructor(calls: Calls) {
    this.#calls = calls;
    const on = (channel: string, react: (message: Message) => void): [string, () => void] => [
      channel,
      ignoreErrors((message?: unknown) => react(message as Message)),
    ];
    const onConnected = ({ connectParams: { protocol, host } }: ConnectedMessage) =>
      this.#calls.addConnection(`${protocol}//${host}`);
    this.#listeners = [
      [
        'undici:client:connected',
        ignoreErrors((message?: unknown) => onConnected(message as ConnectedMessage)),
      ],
      on('undici:request:create', ({ request }) => {
        this.#open.set(request, this.#calls.begin(String(request.origin), null));
      }),
      on('undici:client:sendHeaders', ({ request }) => this.#markSent(request)),
      // Of HTTP/2, older versions report only this.
      on('undici:request:bodySent', ({ request }) => this.#markSent(request)),
      on('undici:request:trailers', ({ request }) => this.#end(request, false)),
      on('undici:request:error', ({ request }) => this.#end(request, true)),
    ];
  }

  observe(on: boolean): void {
    for (const [channel, listener] of this.#listeners) {
      if (on) subscribe(channel, listener);
      else unsubscribe(channel, listener);
    }
    if (!on) this.sweep(() => true);
  }

  /**
   * Delays every `fetch`; a reference that the application stored is not affected. Returns how many calls the previous
   * delay affected.
   */
  setDelay(ms: number): number {
    const calls = this.#delayedCalls;
    this.#delayedCalls = 0;
    this.#delayMs = ms;
    // Accessed only when needed: the first access to `fetch` loads it.
    if (this.#originalFetch && globalThis.fetch === this.#delayedFetch)
      globalThis.fetch = this.#originalFetch;
    this.#originalFetch = null;
    if (ms === 0) return calls;
    const originalFetch = globalThis.fetch;
    this.#originalFetch = originalFetch;
    // Code that has wrapped it meanwhile keeps it; without a delay it only forwards the call.
    this.#delayedFetch = async (...args) => {
      if (this.#delayMs > 0) {
        this.#delayedCalls++;
        await new Promise((resolve) => timers.setTimeout(resolve, this.#delayMs));
      }
      return originalFetch(...args);
    };
    globalThis.fetch = this.#delayedFetch;
    return calls;
  }

  /** Ends requests that ended without an event. */
  sweep(hasEnded = ({ aborted, completed }: Message['request']) => aborted || completed): void {
    for (const request of this.#open.keys()) if (hasEnded(request)) this.#end(request, true);
  }

  #markSent(request: Message['request']): void {
    const call = this.#open.get(request);
    if (!request.upgrade && request.method !== 'CONNECT') {
      call?.markSent();
      return;
    }
    // Older versions do not report its end, and a tunnel may last for ever.
    call?.markReleased();
    this.#open.delete(request);
  }

  #end(request: Message['request'], failed: boolean): void {
    this.#open.get(request)?.markEnded(failed);
    this.#open.delete(request);
  }
}
