import type { Outgoing } from './internals.js';

/** Responses that have to end within a limit. All have the same, so the first one in is the first one late. */
export class Deadlines {
  readonly #since = new Map<Outgoing, number>();
  readonly #late: (response: Outgoing) => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(late: (response: Outgoing) => void) {
    this.#late = late;
  }

  /** `limit` in milliseconds. */
  add(response: Outgoing, limit: number): void {
    this.#since.set(response, performance.now());
    if (this.#timer === null) this.#wait(limit, limit);
  }

  delete(response: Outgoing): void {
    this.#since.delete(response);
  }

  get size(): number {
    return this.#since.size;
  }

  #wait(ms: number, limit: number): void {
    this.#timer = setTimeout(() => this.#check(limit), ms).unref();
  }

  #check(limit: number): void {
    this.#timer = null;
    const now = performance.now();
    for (const [response, since] of this.#since) {
      const left = since + limit - now;
      if (left > 0) {
        this.#wait(Math.ceil(left), limit);
        return;
      }
      this.#since.delete(response);
      this.#late(response);
    }
  }
}
