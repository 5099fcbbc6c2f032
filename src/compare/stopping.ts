import { estimateFigure } from './estimate.js';
import type { ComparedRun, Metric } from './result.js';
import { DEFAULT_CONFIDENCE } from './rows.js';

/** Minimum number of pairs before the width of an interval is looked at, see `wantsMoreRuns`. */
export const MIN_PAIRS = 6;

/** When a comparison has enough runs. */
export interface StoppingRule {
  /** The verdict's metric. */
  metric: Metric;
  /** Width of the verdict's interval that is narrow enough, relative: 0.03 is 3 %. */
  width: number;
  /** Confidence of that interval, 0.95 by default. */
  confidence?: number;
}

/**
 * Tells whether another pair of runs is wanted: until the verdict's interval is no wider than asked. It looks at the width
 * of the interval alone, never at where it lies, as an interval that stops when it shows a difference shows one too often.
 * The order of the runs is A B B A, so the pairs are even in number at the end.
 */
export function wantsMoreRuns(
  runs: readonly ComparedRun[],
  { metric, width, confidence = DEFAULT_CONFIDENCE }: StoppingRule,
): boolean {
  const { pairs, measure } = estimateFigure(runs, ({ figures }) => figures[metric]);
  if (pairs < MIN_PAIRS || pairs % 2 !== 0) return true;
  const ratio = measure(confidence);
  if (ratio?.low == null || ratio.high === null) return true;
  return ratio.high / ratio.low > 1 + width;
}
