import { countMovedBytes } from '../outbound/byte-counts.js';
import { createUndiciError } from '../outbound/errors.js';
import { cancelTimeout, scheduleTimeout, TimerEntry } from '../outbound/timer-wheel.js';
import {
  findConnection,
  isReadingPaused,
  isWaitingToWrite,
} from '../outbound/undici-connections.js';

/** A try is checked this many times within its shorter limit, so that a limit fires at most that fraction late. */
const CHECKS_PER_LIMIT = 16;

/** The fields of undici's request that are used here. */
export interface LimitedRequest {
  /** Set once the request is on a connection. */
  abort?: ((error: Error) => void) | null;
}

/** Limits of the phases of a try, in milliseconds; 0: none. */
export interface PhaseLimits {
  headers: number;
  idle: number;
}

/**
 * The limits `headers` and `idle` of one try. undici's own timers have a resolution of a second, and may fire early.
 */
export class TryLimits extends TimerEntry {
  readonly #host: string;
  readonly #limits: PhaseLimits;
  readonly #intervalMs: number;
  #request: LimitedRequest | null = null;
  #isInBody = false;
  /** When bytes were last seen to move. */
  #progressAt = this.startedAt;
  #bytes = -1;

  constructor(host: string, limits: PhaseLimits) {
    super();
    this.#host = host;
    this.#limits = limits;
    const shortest = Math.min(limits.headers || Infinity, limits.idle || Infinity);
    this.#intervalMs = Math.ceil(shortest / CHECKS_PER_LIMIT);
    if (shortest === Infinity) return;
    this.dueAt = this.startedAt + this.#intervalMs;
    scheduleTimeout(this);
  }

  /** Called with the request of the try as soon as undici has created it. */
  onRequest(request: LimitedRequest): void {
    this.#request = request;
  }

  onHeaders(): void {
    this.#isInBody = true;
  }

  end(): void {
    cancelTimeout(this);
  }

  override addIdleTime(ms: number): void {
    this.#progressAt += ms;
  }

  onDue(at: number): void {
    const socket = this.#request?.abort ? findConnection(this.#request) : undefined;
    const bytes = socket ? countMovedBytes(socket) + (this.#isInBody ? 0.5 : 0) : -1;
    const isPaused =
      socket === undefined ||
      isWaitingToWrite(socket) ||
      (this.#isInBody && isReadingPaused(socket));
    if (isPaused || bytes !== this.#bytes) this.#progressAt = at;
    this.#bytes = bytes;
    const limit = this.#isInBody ? 'idle' : 'headers';
    const limitMs = this.#limits[limit];
    const endsAt = limitMs > 0 ? this.#progressAt + limitMs : Infinity;
    if (at >= endsAt) this.#fail(limit, limitMs, at);
    else this.dueAt = Math.min(at + this.#intervalMs, endsAt);
  }

  #fail(limit: 'headers' | 'idle', limitMs: number, at: number): void {
    this.end();
    const facts = { limit, limitMs, host: this.#host, elapsedMs: at - this.startedAt };
    const waitingFor = limit === 'idle' ? 'the rest of the body' : 'the response headers';
    this.#request?.abort?.(createUndiciError(facts, waitingFor, 'millrace/client'));
  }
}
