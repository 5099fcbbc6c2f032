import { timers } from '../runtime/clock.cjs';
import { answerHandler, type Handler, recordHandler } from './dispatch-handlers.cjs';
import { buildRequestKey, type RecordedResponses } from './recorded-responses.cjs';
import { readSymbol } from './symbol-properties.cjs';
import type {
  DispatchCall,
  DispatchInterceptor,
  DispatchOptions,
  UndiciDispatches,
} from './undici-dispatches.cjs';

/** Calls by `fetch` and undici that are answered from memory while there is one. */
export class DispatchMemory {
  readonly #dispatches: UndiciDispatches;
  #responses: RecordedResponses | null = null;
  /** Handlers of calls that went out: an agent passes them on to a pool, and that to a client. */
  readonly #passed = new WeakSet<Handler>();

  constructor(dispatches: UndiciDispatches) {
    this.#dispatches = dispatches;
  }

  set responses(responses: RecordedResponses | null) {
    this.#responses = responses;
    this.#dispatches.intercept(this.#answerOrPass, responses !== null);
  }

  readonly #answerOrPass: DispatchInterceptor = (call, dispatch) => {
    let passed: Handler | null = call.handler;
    try {
      passed = this.#decide(call);
    } catch {
      // The call goes out.
    }
    return passed === null || dispatch(passed);
  };

  /** Answers a call and returns `null`, or returns the handler with which it goes out. */
  #decide({ dispatcher, options, handler }: DispatchCall): Handler | null {
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
