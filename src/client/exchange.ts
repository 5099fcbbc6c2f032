import { clearTimeout, now, setTimeout } from '../outbound/clock.js';
import { type DeadlineFacts, undiciError } from '../outbound/errors.js';
import { cancelTimeout, scheduleTimeout, Watched } from '../outbound/timer-wheel.js';
import type { Answer } from './response.js';

const { addEventListener } = EventTarget.prototype;

/** One call from its beginning to the last byte of its answer: what can end it, whichever try it is at. */
export class Exchange extends Watched {
  readonly #host: string;
  readonly #total: number;
  readonly #controller = new AbortController();
  readonly #given: AbortSignal | undefined;
  readonly #onEnd: (error: unknown, ended: Exchange) => void;
  readonly #onAbort = () => this.abort(this.#given?.reason);
  #body: Answer['body'] | null = null;
  #isOver = false;

  constructor(
    host: string,
    total: number,
    given: AbortSignal | undefined,
    onEnd: (error: unknown, ended: Exchange) => void,
  ) {
    super();
    this.#host = host;
    this.#total = total;
    this.#given = given;
    this.#onEnd = onEnd;
    if (given?.aborted) this.abort(given.reason);
    // Deadlines take their own way of listening for that of a call that is yet to come.
    else if (given) addEventListener.call(given, 'abort', this.#onAbort);
    if (total === 0 || this.#isOver) return;
    this.due = this.begun + total;
    scheduleTimeout(this);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Milliseconds. */
  get left(): number {
    return this.#total === 0 ? Number.POSITIVE_INFINITY : this.begun + this.#total - now();
  }

  /** Gives what `work` gives, or fails as soon as the call is aborted: in a queue `undici` would tell later. */
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

  /** Waits so many milliseconds, unless the call is aborted. */
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

  /** The answer has begun; the call ends with its body. */
  answeredBy(body: Answer['body'], isEmpty: boolean): void {
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

  check(at: number): void {
    // All is here, and the application has not read it: nobody is late.
    if (isComplete(this.#body)) {
      this.end(null);
      return;
    }
    const facts: DeadlineFacts = {
      limit: 'total',
      limitMs: this.#total,
      host: this.#host,
      elapsedMs: at - this.begun,
    };
    const waitingFor = this.#body ? 'the rest of the body' : 'the response headers';
    this.abort(undiciError(facts, waitingFor, 'millrace/client'));
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
    this.end(reason);
  }

  end(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    cancelTimeout(this);
    this.#given?.removeEventListener('abort', this.#onAbort);
    this.#onEnd(error, this);
  }
}

function isComplete(body: Answer['body'] | null): boolean {
  const { _readableState: state } = (body ?? {}) as { _readableState?: { ended?: boolean } };
  return state?.ended === true;
}
