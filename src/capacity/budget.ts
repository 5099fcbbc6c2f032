import type { CapacityProgress } from './result.js';

/** What a run is given to keep within its time, and to tell how far it is. */
export class Budget {
  readonly ms: number;
  readonly #startedMs = performance.now();
  readonly #report: (progress: CapacityProgress) => void;

  constructor(ms: number, report: (progress: CapacityProgress) => void) {
    this.ms = ms;
    this.#report = report;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedMs;
  }

  get leftMs(): number {
    return this.ms - this.elapsedMs;
  }

  /** Tells what comes next. */
  step(step: string): void {
    this.#report({ step, elapsedMs: this.elapsedMs, budgetMs: this.ms });
  }
}
