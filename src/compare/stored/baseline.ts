import { MillraceError } from '../../errors.js';
import type { LoadOptions } from '../../load/options.js';
import { buildPlan } from '../../load/plan/plan.js';
import { findPlanDifference } from '../differences/plan-difference.js';
import { readStoredResults } from './stored.js';

/** Refuses, before a load, an earlier result that its result cannot be compared with. */
export async function checkBaseline(file: string, options: LoadOptions): Promise<void> {
  const results = readStoredResults([file]);
  const plan = await buildPlan(options, options.command ? 'http://localhost' : undefined);
  for (const result of results) {
    const difference = findPlanDifference(result.plan, plan.summary);
    if (difference !== null) {
      throw new MillraceError(
        'ERR_MILLRACE_DIFFERENT',
        `this load is not that of '${file}': ${difference} (A: the file, B: this load)`,
      );
    }
  }
}
