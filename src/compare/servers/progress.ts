import { share } from '../../format/units.js';
import type { CompareProgress, ComparisonRatio, ComparisonSideName } from '../result.js';

/** The time budget of a comparison, and the reporting of its progress. */
export class ComparisonProgress {
  readonly #budgetMs: number;
  readonly #startedMs = performance.now();
  readonly #report: (progress: CompareProgress) => void;
  #width: number | null = null;

  constructor(budgetMs: number, report: (progress: CompareProgress) => void) {
    this.#budgetMs = budgetMs;
    this.#report = report;
  }

  get leftMs(): number {
    return this.#budgetMs - (performance.now() - this.#startedMs);
  }

  /** Reports a step before the first run. */
  step(step: string): void {
    this.#send(step, null, null);
  }

  /** Reports the run that begins. */
  run(pair: number, side: ComparisonSideName): void {
    const width = this.#width === null ? '' : `, interval ${share(this.#width)} wide`;
    this.#send(`pair ${pair + 1}: ${side.toUpperCase()}${width}`, pair, side);
  }

  /** Takes the ratio so far. */
  ratio(ratio: ComparisonRatio | null): void {
    this.#width = computeWidth(ratio);
  }

  #send(step: string, pair: number | null, side: ComparisonSideName | null): void {
    const elapsedMs = performance.now() - this.#startedMs;
    const budgetMs = this.#budgetMs;
    this.#report({ step, pair, side, width: this.#width, elapsedMs, budgetMs });
  }
}

/** Computes the relative width of a ratio's interval: 0.03 if its upper end is 3 % above the lower; `null` without one. */
export function computeWidth(ratio: ComparisonRatio | null): number | null {
  if (ratio?.low == null || ratio.high === null || ratio.low <= 0) return null;
  return ratio.high / ratio.low - 1;
}
