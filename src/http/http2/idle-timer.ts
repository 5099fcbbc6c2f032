import timers from 'node:timers';
import { invalidArgument, outOfRange } from './errors.js';

/** Node's functions, kept in case the application replaces the global ones. */
const { setTimeout, clearTimeout } = timers;

const MAX_MS = 2 ** 31 - 1;

/** A timer that something is used again: a stream, or a session. It does not keep the process alive. */
export class IdleTimer {
  ms = 0;
  #timer: NodeJS.Timeout | null = null;

  /** Starts it, or with 0 stops it. */
  set(value: unknown, onTimeout: () => void): void {
    if (typeof value !== 'number') throw invalidArgument('msecs', 'of type number', value);
    if (!(value >= 0 && Number.isFinite(value))) throw outOfRange('msecs', value);
    this.ms = Math.min(value, MAX_MS);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = this.ms === 0 ? null : setTimeout(onTimeout, this.ms).unref();
  }

  refresh(): void {
    if (this.#timer !== null) this.#timer.refresh();
  }
}
