import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ignoreErrors, timers } from '../runtime/clock.cjs';
import { answerHandler, type Handler, recordHandler } from './dispatch-handlers.cjs';
import { buildRequestKey, type RecordedResponses } from './recorded-responses.cjs';

const CONNECTED = 'undici:client:connected';

interface DispatchOptions {
  origin?: string | URL;
  path: string;
  method: string;
  query?: Record<string, unknown>;
  body?: unknown;
  headers?: unknown;
  upgrade?: unknown;
  expectContinue?: boolean;
}

type Dispatch = (this: object, options: DispatchOptions, handler: Handler) => boolean;
type Dispatcher = { dispatch: Dispatch };

/**
 * Calls by `fetch` and undici that are answered from memory while there is one. Each copy of undici has a class whose
 * `dispatch` all calls pass; a connection reveals it.
 */
export class DispatchMemory {
  #responses: RecordedResponses | null = null;
  readonly #classes = new Map<Dispatcher, Dispatch | null>();
  /** Handlers of calls that went out: an agent passes them on to a pool, and that to a client. */
  readonly #passed = new WeakSet<Handler>();

  constructor() {
    // From the start: a service may open its connections before it serves.
    subscribe(CONNECTED, this.#onConnected);
  }

  set responses(responses: RecordedResponses | null) {
    this.#responses = responses;
    for (const dispatcher of this.#classes.keys()) {
      if (responses === null) this.#restore(dispatcher);
      else this.#patch(dispatcher);
    }
  }

  /** Undoes all changes. */
  restore(): void {
    unsubscribe(CONNECTED, this.#onConnected);
    this.responses = null;
    this.#classes.clear();
  }

  readonly #onConnected = ignoreErrors((message: unknown) => {
    const { socket } = message as { socket?: object };
    const client = socket && readSymbol(socket, 'client');
    const dispatcher = findOwner(client);
    if (dispatcher === null || this.#classes.has(dispatcher)) return;
    this.#classes.set(dispatcher, null);
    if (this.#responses !== null) this.#patch(dispatcher);
  });

  #patch(dispatcher: Dispatcher): void {
    if (this.#classes.get(dispatcher)) return;
    const original = dispatcher.dispatch;
    const probe = this;
    const patched: Dispatch = function dispatch(options, handler) {
      let isAnswered = false;
      let passed = handler;
      try {
        const decided = probe.#decide(this, options, handler);
        isAnswered = decided === null;
        passed = decided ?? handler;
      } catch {
        // The call goes out.
      }
      return isAnswered || original.call(this, options, passed);
    };
    this.#classes.set(dispatcher, original);
    dispatcher.dispatch = patched;
    this.#patched.set(dispatcher, patched);
  }

  readonly #patched = new WeakMap<Dispatcher, Dispatch>();

  #restore(dispatcher: Dispatcher): void {
    const original = this.#classes.get(dispatcher);
    // Code that has wrapped it meanwhile keeps calling it.
    if (!original || dispatcher.dispatch !== this.#patched.get(dispatcher)) return;
    dispatcher.dispatch = original;
    this.#classes.set(dispatcher, null);
  }

  /** Answers a call and returns `null`, or returns the handler with which it goes out. */
  #decide(dispatcher: object, options: DispatchOptions, handler: Handler): Handler | null {
    const responses = this.#responses;
    if (responses === null || this.#passed.has(handler)) return handler;
    const origin = String(options.origin ?? readSymbol(dispatcher, 'url') ?? '');
    if (toOrigin(origin) !== toOrigin(responses.origin)) return handler;
    const key = readKey(options, toOrigin(origin));
    const response = responses.answer(key);
    if (response !== null) {
      timers.setImmediate(() => answerHandler(handler, response));
      return null;
    }
    const passed = key === null ? handler : recordHandler(handler, responses, key);
    this.#passed.add(passed);
    return passed;
  }
}

/** Returns the normal form of an origin, without a default port. */
function toOrigin(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).origin : null;
}

/** Reads the key of a call without content; `null` if it has some, or is not repeatable. */
function readKey(options: DispatchOptions, origin: string | null): string | null {
  const { method, path, query, body, headers, upgrade, expectContinue } = options;
  if (origin === null || (method !== 'GET' && method !== 'HEAD')) return null;
  if ((body !== null && body !== undefined) || upgrade || expectContinue) return null;
  const fields = listFields(headers);
  if (fields === null) return null;
  return buildRequestKey(method, `${origin}${path} ${JSON.stringify(query ?? null)}`, fields);
}

/** Lists the fields of a call, which undici takes in several forms; `null` if it is another one. */
function listFields(headers: unknown): [string, string][] | null {
  if (headers === null || headers === undefined) return [];
  if (Array.isArray(headers) && headers.every((one) => typeof one === 'string')) {
    return headers.flatMap((name, index): [string, string][] =>
      index % 2 === 0 ? [[name, String(headers[index + 1])]] : [],
    );
  }
  if (typeof headers !== 'object') return null;
  const entries =
    Symbol.iterator in headers
      ? [...(headers as Iterable<[string, unknown]>)]
      : Object.entries(headers);
  return entries.map(([name, value]) => [String(name), String(value)]);
}

function findOwner(client: unknown): Dispatcher | null {
  let prototype: object | null = typeof client === 'object' ? client : null;
  while (prototype !== null && !Object.hasOwn(prototype, 'dispatch'))
    prototype = Object.getPrototypeOf(prototype);
  return prototype as Dispatcher | null;
}

function readSymbol(holder: object, name: string): unknown {
  const symbol = Object.getOwnPropertySymbols(holder).find(
    ({ description }) => description === name,
  );
  return symbol && (holder as Record<symbol, unknown>)[symbol];
}
