import { parseCondition } from '../load/plan/condition.js';
import type { LoadResult } from '../load/result.js';

/** A condition, whether it holds (`null`: it cannot be judged), and the measured value in words. */
export interface JudgedCondition {
  condition: string;
  holds: boolean | null;
  measured: string;
}

/** Chooses the sign of an outcome. */
export function chooseSign(holds: boolean | null): string {
  if (holds === null) return '?';
  return holds ? '✓' : '✗';
}

/** Describes an outcome. */
export function describeOutcome(holds: boolean | null): string {
  if (holds === null) return 'cannot be judged';
  return holds ? 'holds' : 'does not hold';
}

/** Lists the conditions of a load with the measured values in words. */
export function listLoadConditions(result: LoadResult): JudgedCondition[] {
  const { conditions = [], interrupted } = result;
  return conditions.map(({ condition, holds }) => {
    const measured = parseCondition(condition, 'failOn').describe(result);
    // A part of a run does not fulfil a condition.
    if (!interrupted || !holds) return { condition, holds, measured };
    return { condition, holds: null, measured: `${measured} when the run was interrupted` };
  });
}
