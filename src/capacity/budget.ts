import type { CapacityProgress } from './result.js';

/** The time budget of a run, and the reporting of its progress. */
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

  /** Reports the step that begins now. */
  step(step: string): void {
    this.#report({ step, elapsedMs: this.elapsedMs, budgetMs: this.ms });
  }
}
