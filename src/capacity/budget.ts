import type { CapacityProgress } from './result.js';

/** What a run is given to keep within its time, and to tell how far it is. */
export class Budget {
  readonly ms: number;
  readonly #begun = performance.now();
  readonly #tell: (progress: CapacityProgress) => void;

  constructor(ms: number, tell: (progress: CapacityProgress) => void) {
    this.ms = ms;
    this.#tell = tell;
  }

  get elapsedMs(): number {
    return performance.now() - this.#begun;
  }

  get leftMs(): number {
    return this.ms - this.elapsedMs;
  }

  /** Tells what comes next. */
  step(step: string): void {
    this.#tell({ step, elapsedMs: this.elapsedMs, budgetMs: this.ms });
  }
}
