import type { ComparisonResult } from '../../compare/result.js';
import type { JudgedCondition } from '../conditions.js';
import { formatRatio } from './metrics.js';

/** Lists the conditions of a comparison with the measured ratios in words. */
export function listComparisonConditions({ conditions = [] }: ComparisonResult): JudgedCondition[] {
  return conditions.map(({ condition, value, holds }) => ({
    condition,
    holds,
    measured: value === null ? 'without a measured ratio' : formatRatio(value),
  }));
}
