import type { ComparisonResult, RatioConditionResult } from '../../compare/result.js';
import type { JudgedCondition } from '../conditions.js';
import { formatRatio, formatRatioInterval } from './metrics.js';

/** Lists the conditions of a comparison with the measured ratios and their intervals. */
export function listComparisonConditions(result: ComparisonResult): JudgedCondition[] {
  const { conditions = [], ended } = result;
  return conditions.map((one) => ({
    condition: one.condition,
    // A part of a comparison does not fulfil a condition.
    holds: ended === 'interrupted' && one.holds ? null : one.holds,
    measured: describeMeasured(one, result),
  }));
}

function describeMeasured(one: RatioConditionResult, result: ComparisonResult): string {
  const { condition, value, reason } = one;
  if (value === null) return reason ?? 'without a ratio';
  const ratio = describeRatio(condition, value, result);
  return reason === null || reason === undefined ? ratio : `${ratio}; ${reason}`;
}

/** Describes a ratio with the interval of its row. A condition that holds is not shown if its bound is in the interval. */
function describeRatio(condition: string, value: number, { rows }: ComparisonResult): string {
  const { low = null, high = null } =
    rows.find(({ ratio }) => ratio?.estimate === value)?.ratio ?? {};
  if (low === null || high === null) return `${formatRatio(value)} (no interval)`;
  // A stored result may contain any text: of one without a number the bound is NaN, which no interval contains.
  const bound = Number(/[\d.]+$/.exec(condition.trim())?.[0]);
  const doubt = low <= bound && bound <= high ? ' contains the bound: not shown' : '';
  return `${formatRatio(value)} (interval ${formatRatioInterval(low, high)}${doubt})`;
}
