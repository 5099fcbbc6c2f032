import timers from 'node:timers';
import type { Outgoing } from '../node/node-internals.js';
import { now } from '../reactor/clock.js';

/** Node's functions, kept in case the application replaces the global ones. */
const { setTimeout, clearTimeout } = timers;

/** Responses that have to end within a limit. All have the same, so the first one in is the first one late. */
export class Deadlines {
  readonly #since = new Map<Outgoing, number>();
  readonly #late: (response: Outgoing) => void;
  #limit = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(late: (response: Outgoing) => void) {
    this.#late = late;
  }

  /** The limit in milliseconds; 0: no limit. A change also applies to the responses that wait already. */
  set limit(ms: number) {
    if (ms === this.#limit) return;
    this.#limit = ms;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (ms === 0) this.#since.clear();
    if (this.#since.size > 0) this.#wait(0);
  }

  add(response: Outgoing): void {
    this.#since.set(response, now());
    if (this.#timer === null) this.#wait(this.#limit);
  }

  delete(response: Outgoing): void {
    this.#since.delete(response);
  }

  get size(): number {
    return this.#since.size;
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => this.#check(), Math.min(ms, LONGEST_TIMER)).unref();
  }

  #check(): void {
    this.#timer = null;
    const present = now();
    for (const [response, since] of this.#since) {
      const left = since + this.#limit - present;
      if (left > 0) {
        this.#wait(Math.ceil(left));
        return;
      }
      this.#since.delete(response);
      this.#late(response);
    }
  }
}

/** Of Node's timers, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;
