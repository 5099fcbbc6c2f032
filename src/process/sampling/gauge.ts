import { findFirstAfter } from './counter.js';

/** A quantity that goes up and down, by readings at times on the clock of `performance.now()`. */
export class Gauge {
  readonly #atMs: number[] = [];
  readonly #values: number[] = [];

  add(atMs: number, value: number): void {
    this.#atMs.push(atMs);
    this.#values.push(value);
  }

  /** The last reading until then, else the first one there is; `null` without readings. */
  at(atMs: number): number | null {
    const index = findFirstAfter(this.#atMs, atMs);
    return this.#values[Math.max(0, index - 1)] ?? null;
  }
}
