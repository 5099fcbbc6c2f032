import { findFirstAfter } from '../../statistics/counter.js';

/** A quantity that may rise and fall, with readings at times on the clock of `performance.now()`. */
export class Gauge {
  readonly #atMs: number[] = [];
  readonly #values: number[] = [];

  add(atMs: number, value: number): void {
    this.#atMs.push(atMs);
    this.#values.push(value);
  }

  /** Returns the last reading until then, or else the first reading; `null` without readings. */
  at(atMs: number): number | null {
    const index = findFirstAfter(this.#atMs, atMs);
    return this.#values[Math.max(0, index - 1)] ?? null;
  }
}
