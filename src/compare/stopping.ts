import type { ComparedRun, ComparisonMetric, ComparisonRatio } from './result.js';
import { estimateFigure, type FigureEstimate } from './rows/estimate.js';
import { DEFAULT_CONFIDENCE } from './rows/rows.js';

/** Minimum number of pairs before the width of an interval is looked at, see `wantsMoreRuns`. */
export const MIN_PAIRS = 6;

/** When a comparison has enough runs. */
export interface StoppingRule {
  /** The verdict's metric. */
  metric: ComparisonMetric;
  /** Width of the verdict's interval that is narrow enough, relative: 0.03 is 3 %. */
  width: number;
  /** Confidence of that interval, 0.95 by default. */
  confidence?: number;
}

/**
 * Tells whether another pair of runs is wanted: until the verdict's interval is no wider than asked. It looks at the width
 * of the interval alone, never at where it lies: a comparison that may end when it shows a difference shows one too often.
 * The order of the runs is A B B A, so the pairs are even in number at the end.
 *
 * How often the interval of 95 % covers the truth at the end, and after how many pairs: simulated, 20 000 comparisons
 * each, a width of 3 % and at most 40 pairs. The last two columns are of a machine whose noise lasts, with this
 * correlation between neighboring runs.
 *
 * | scatter of a run | normal     | every tenth run 5 times as noisy | Laplace | skewed: a run only loses | 0.5 | 0.9 |
 * |-------|------------|------------|------------|------------|------------|-----------|
 * | 0.5 % | 98.7 %, 6  | 98.7 %, 7  | 99.2 %, 6  | 99.6 %, 6  | 99.5 %, 6  | 100 %, 6  |
 * | 1 %   | 96.5 %, 8  | 97.5 %, 14 | 97.6 %, 8  | 98.4 %, 8  | 96.1 %, 6  | 99.9 %, 6 |
 * | 2 %   | 94.8 %, 20 | 97.8 %, 35 | 96.3 %, 19 | 97.4 %, 18 | 93.4 %, 11 | 97.2 %, 6 |
 * | 3 %   | 95.8 %, 37 | 99.0 %, 40 | 96.9 %, 35 | 97.8 %, 33 | 92.7 %, 21 | 96.2 %, 8 |
 */
export function wantsMoreRuns(
  runs: readonly ComparedRun[],
  { metric, width, confidence = DEFAULT_CONFIDENCE }: StoppingRule,
): boolean {
  const { pairs, measure } = estimateVerdict(runs, metric);
  if (pairs < MIN_PAIRS || pairs % 2 !== 0) return true;
  const ratio = measure(confidence);
  if (ratio?.low == null || ratio.high === null) return true;
  return ratio.high / ratio.low > 1 + width;
}

/** Computes the ratio of the verdict's metric alone, with its interval: what reports show while a comparison goes on. */
export function measureVerdictRatio(
  runs: readonly ComparedRun[],
  { metric, confidence = DEFAULT_CONFIDENCE }: Omit<StoppingRule, 'width'>,
): ComparisonRatio | null {
  return estimateVerdict(runs, metric).measure(confidence);
}

function estimateVerdict(runs: readonly ComparedRun[], metric: ComparisonMetric): FigureEstimate {
  return estimateFigure(runs, ({ figures }) => figures[metric]);
}
