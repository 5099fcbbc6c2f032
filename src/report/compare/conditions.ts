import type { ComparisonResult } from '../../compare/result.js';
import type { JudgedCondition } from '../conditions.js';
import { formatRatio, formatRatioInterval } from './metrics.js';

/** Lists the conditions of a comparison with the measured ratios and their intervals. */
export function listComparisonConditions(result: ComparisonResult): JudgedCondition[] {
  const { conditions = [] } = result;
  return conditions.map(({ condition, value, holds }) => ({
    condition,
    holds,
    measured: value === null ? 'without a ratio' : describeRatio(value, result),
  }));
}

/** Describes a ratio with the interval of its row: a condition fails only if all of that is beyond its bound. */
function describeRatio(value: number, { rows }: ComparisonResult): string {
  const { low = null, high = null } =
    rows.find(({ ratio }) => ratio?.estimate === value)?.ratio ?? {};
  const interval = low === null ? 'no interval' : `interval ${formatRatioInterval(low, high)}`;
  return `${formatRatio(value)} (${interval})`;
}
