import type { EventEmitter } from 'node:events';
import timers from 'node:timers';
import { invalidArgument, outOfRange } from './errors.js';

/** Node's functions, kept in case the application replaces the global ones. */
const { setTimeout, clearTimeout } = timers;

/** Maximum of a timer of Node's. */
const MAX_MS = 2 ** 31 - 1;

/**
 * Emits 'timeout' of a stream or a session that was not used for the time that `setTimeout()` has set. It does not keep the process
 * alive.
 */
export class IdleTimer {
  ms = 0;
  readonly #emitter: EventEmitter;
  #timer: NodeJS.Timeout | null = null;

  constructor(emitter: EventEmitter) {
    this.#emitter = emitter;
  }

  /** Does what `setTimeout()` of a stream or a session does: 0 stops the timer, and removes the listener `callback`. */
  set(ms: unknown, callback?: () => void): void {
    if (typeof ms !== 'number') throw invalidArgument('msecs', 'of type number', ms);
    if (!(ms >= 0 && Number.isFinite(ms))) {
      throw outOfRange('msecs', 'a non-negative finite number', ms);
    }
    this.stop();
    this.ms = ms;
    if (ms > 0) {
      this.#timer = setTimeout(emitTimeout, Math.min(ms, MAX_MS), this.#emitter).unref();
    }
    if (callback === undefined) return;
    if (typeof callback !== 'function') {
      throw invalidArgument('callback', 'of type function', callback);
    }
    if (ms === 0) this.#emitter.removeListener('timeout', callback);
    else this.#emitter.once('timeout', callback);
  }

  /** Starts the time again: what it watches was used. */
  refresh(): void {
    this.#timer?.refresh();
  }

  stop(): void {
    this.ms = 0;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

function emitTimeout(emitter: EventEmitter): void {
  emitter.emit('timeout');
}
