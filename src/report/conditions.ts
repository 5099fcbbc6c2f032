import { parseCondition } from '../load/plan/condition.js';
import type { LoadResult } from '../load/result.js';

/** A condition, whether it holds, and the measured value in words. */
export interface JudgedCondition {
  condition: string;
  holds: boolean;
  measured: string;
}

/** Lists the conditions of a load with the measured values in words. */
export function listLoadConditions(result: LoadResult): JudgedCondition[] {
  const { conditions = [] } = result;
  return conditions.map(({ condition, holds }) => ({
    condition,
    holds,
    measured: parseCondition(condition, 'conditions').describe(result),
  }));
}
