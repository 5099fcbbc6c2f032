import type {
  RecordedResponse,
  RecordedResponses,
  ResponseRecorder,
} from './recorded-responses.cjs';

/** The methods of a handler of undici: those until version 6, and those from version 7 on. */
export interface Handler {
  onConnect?(abort: (reason?: Error) => void, context: null): void;
  onResponseStarted?(): void;
  onHeaders?(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean;
  onData?(chunk: Buffer): boolean;
  onComplete?(trailers: Buffer[]): void;
  onError?(error: Error): void;
  onRequestStart?(controller: Controller, context: object): void;
  onResponseStart?(
    controller: Controller,
    status: number,
    headers: Fields,
    statusText: string,
  ): void;
  onResponseData?(controller: Controller, chunk: Buffer): void;
  onResponseEnd?(controller: Controller, trailers: Fields): void;
  onResponseError?(controller: Controller, error: Error): void;
}

type Fields = Record<string, string | string[]>;

/** Answers a call by its handler, as undici does. */
export function answerHandler(handler: Handler, response: RecordedResponse): void {
  const controller = new Controller((error) => {
    if (handler.onRequestStart) handler.onResponseError?.(controller, error);
    else handler.onError?.(error);
  });
  try {
    if (handler.onRequestStart) answerByController(handler, response, controller);
    else answerByCallbacks(handler, response, controller);
  } catch (error) {
    controller.abort(error as Error);
  }
}

function answerByController(
  handler: Handler,
  { status, statusText, headers, body }: RecordedResponse,
  controller: Controller,
): void {
  handler.onRequestStart?.(controller, {});
  if (controller.aborted) return;
  handler.onResponseStarted?.();
  controller.rawHeaders = headers.map((text) => Buffer.from(text, 'latin1'));
  handler.onResponseStart?.(controller, status, toFields(headers), statusText);
  controller.runWhenFree(() => {
    if (body.length > 0) handler.onResponseData?.(controller, Buffer.from(body));
    controller.runWhenFree(() => {
      controller.isEnded = true;
      handler.onResponseEnd?.(controller, {});
    });
  });
}

function answerByCallbacks(
  handler: Handler,
  { status, statusText, headers, body }: RecordedResponse,
  controller: Controller,
): void {
  handler.onConnect?.((reason) => controller.abort(reason), null);
  if (controller.aborted) return;
  handler.onResponseStarted?.();
  const resume = () => controller.resume();
  const raw = headers.map((text) => Buffer.from(text, 'latin1'));
  if (handler.onHeaders?.(status, raw, resume, statusText) === false) controller.pause();
  controller.runWhenFree(() => {
    if (body.length > 0 && handler.onData?.(Buffer.from(body)) === false) controller.pause();
    controller.runWhenFree(() => {
      controller.isEnded = true;
      handler.onComplete?.([]);
    });
  });
}

/** Controls the response of one call, as undici's own controller does. */
class Controller {
  paused = false;
  aborted = false;
  reason: Error | null = null;
  rawHeaders: Buffer[] = [];
  rawTrailers: Buffer[] = [];
  isEnded = false;
  readonly #onAbort: (error: Error) => void;
  #next: (() => void) | null = null;

  constructor(onAbort: (error: Error) => void) {
    this.#onAbort = onAbort;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    const next = this.#next;
    this.#next = null;
    next?.();
  }

  abort(reason?: Error): void {
    if (this.aborted || this.isEnded) return;
    this.aborted = true;
    this.#next = null;
    const error = Object.assign(new Error('Request aborted'), { code: 'UND_ERR_ABORTED' });
    error.name = 'AbortError';
    this.reason = reason ?? error;
    this.#onAbort(this.reason);
  }

  /** Runs the next step: at once, or when the application resumes. */
  runWhenFree(next: () => void): void {
    if (this.aborted) return;
    if (this.paused) this.#next = next;
    else next();
  }
}

function toFields(headers: string[]): Fields {
  const fields: Fields = {};
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    const lower = name.toLowerCase();
    const before = fields[lower];
    fields[lower] = before === undefined ? value : [...[before].flat(), value];
  }
  return fields;
}

/** Returns the handler of a call that goes out, which records its response. */
export function recordHandler(
  handler: Handler,
  responses: RecordedResponses,
  key: string,
): Handler {
  let recorder: ResponseRecorder | null = null;
  const begin = (status: number, statusText: string, headers: string[]) => {
    // An informational response precedes the final one.
    if (status >= 200) recorder = responses.record(key, status, statusText, headers);
  };
  const taps: Record<string, (...args: never[]) => void> = {
    onHeaders: (status: number, headers: Buffer[], _: unknown, statusText: string) =>
      begin(
        status,
        statusText,
        headers.map((text) => Buffer.from(text).toString('latin1')),
      ),
    onData: (chunk: Buffer) => recorder?.add(chunk),
    onComplete: () => recorder?.finish(),
    onResponseStart: (_: unknown, status: number, headers: Fields, statusText: string) =>
      begin(
        status,
        statusText,
        Object.entries(headers).flatMap(([name, value]) =>
          [value].flat().flatMap((one) => [name, one]),
        ),
      ),
    onResponseData: (_: unknown, chunk: Buffer) => recorder?.add(chunk),
    onResponseEnd: () => recorder?.finish(),
  };
  return new Proxy(handler, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      const tap = taps[String(name)];
      if (typeof method !== 'function') return method;
      return (...args: never[]) => {
        try {
          tap?.(...args);
        } catch {
          // The response is not recorded.
        }
        return method.apply(target, args);
      };
    },
  });
}
