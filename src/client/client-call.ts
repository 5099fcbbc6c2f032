import { clearTimeout, now, setTimeout } from '../outbound/clock.js';
import { createUndiciError, type DeadlineFacts } from '../outbound/errors.js';
import { cancelTimeout, scheduleTimeout, TimerEntry } from '../outbound/timer-wheel.js';
import type { UndiciResponse } from './response.js';

const { addEventListener } = EventTarget.prototype;

/**
 * One call from its beginning to the last byte of its response, across all tries: what can end it, and its total
 * limit.
 */
export class ClientCall extends TimerEntry {
  readonly #host: string;
  readonly #total: number;
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #onEnd: (error: unknown, ended: ClientCall) => void;
  readonly #onAbort = () => this.abort(this.#callerSignal?.reason);
  #body: UndiciResponse['body'] | null = null;
  #isOver = false;

  constructor(
    host: string,
    total: number,
    callerSignal: AbortSignal | undefined,
    onEnd: (error: unknown, ended: ClientCall) => void,
  ) {
    super();
    this.#host = host;
    this.#total = total;
    this.#callerSignal = callerSignal;
    this.#onEnd = onEnd;
    if (callerSignal?.aborted) this.abort(callerSignal.reason);
    // `millrace/deadlines` takes a listener added the usual way for that of a call that is still to come.
    else if (callerSignal) addEventListener.call(callerSignal, 'abort', this.#onAbort);
    if (total === 0 || this.#isOver) return;
    this.dueAt = this.startedAt + total;
    scheduleTimeout(this);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Milliseconds until the total limit. */
  get remainingMs(): number {
    return this.#total === 0 ? Number.POSITIVE_INFINITY : this.startedAt + this.#total - now();
  }

  /** Resolves as `work` does, but rejects as soon as the call is aborted: undici rejects queued requests later. */
  async unlessAborted<Result>(work: Promise<Result>): Promise<Result> {
    const { signal } = this;
    work.catch(() => {});
    if (signal.aborted) throw signal.reason;
    let stop = () => {};
    const aborted = new Promise<never>((_, reject) => {
      stop = () => reject(signal.reason);
      signal.addEventListener('abort', stop, { once: true });
    });
    try {
      return await Promise.race([work, aborted]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Waits, unless the call is aborted. */
  async pause(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    try {
      await this.unlessAborted(over);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Called when the response has begun; the call ends with its body. */
  onResponse(body: UndiciResponse['body'], isEmpty: boolean): void {
    this.#body = body;
    if (isEmpty) {
      this.end(null);
      return;
    }
    let error: unknown = null;
    body.on('error', (reason) => {
      error = reason;
    });
    body.on('end', () => this.end(null));
    body.on('close', () => this.end(error));
  }

  onDue(at: number): void {
    // The whole response has arrived and the application has not read it: nobody is late.
    if (isBodyReceived(this.#body)) {
      this.end(null);
      return;
    }
    const facts: DeadlineFacts = {
      limit: 'total',
      limitMs: this.#total,
      host: this.#host,
      elapsedMs: at - this.startedAt,
    };
    const waitingFor = this.#body ? 'the rest of the body' : 'the response headers';
    this.abort(createUndiciError(facts, waitingFor, 'millrace/client'));
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
    this.end(reason);
  }

  end(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    cancelTimeout(this);
    this.#callerSignal?.removeEventListener('abort', this.#onAbort);
    this.#onEnd(error, this);
  }
}

function isBodyReceived(body: UndiciResponse['body'] | null): boolean {
  const { _readableState: state } = (body ?? {}) as { _readableState?: { ended?: boolean } };
  return state?.ended === true;
}
