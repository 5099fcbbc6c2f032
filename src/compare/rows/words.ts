import type { Interval } from '../../statistics/types.js';
import type { ComparisonMetric, ComparisonVerdict } from '../result.js';

/** Metrics of which more is better; of all others less is. */
const MORE_IS_BETTER: ReadonlySet<ComparisonMetric> = new Set(['throughput']);

/**
 * Returns the ratios that count as equal. The range is symmetric on the logarithmic scale, so that A and B exchanged get
 * the opposite word.
 */
export function toEqualRange(margin: number): Interval {
  return { low: 1 / (1 + margin), high: 1 + margin };
}

/** Says in one word what the interval of a ratio of B to A shows. */
export function judgeInterval(
  { low, high }: Interval,
  margin: number,
  metric: ComparisonMetric,
): ComparisonVerdict {
  const equal = toEqualRange(margin);
  if (low > equal.high) return MORE_IS_BETTER.has(metric) ? 'better' : 'worse';
  if (high < equal.low) return MORE_IS_BETTER.has(metric) ? 'worse' : 'better';
  return equal.low <= low && high <= equal.high ? 'no-difference' : 'cannot-tell';
}
