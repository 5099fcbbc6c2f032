import { usageError } from '../../errors.js';
import type { LoadOptions } from '../../load/options.js';
import { buildPlan, FUTURE_SERVER } from '../../load/plan/plan.js';
import { findPlanDifference } from '../differences/plan-difference.js';
import { readStoredResults } from './stored.js';

/** Refuses, before a load, an earlier result that its result cannot be compared with. */
export async function checkBaseline(file: string, options: LoadOptions): Promise<void> {
  const results = readStoredResults([file]);
  const plan = await buildPlan(options, options.command ? FUTURE_SERVER : undefined);
  for (const result of results) {
    const difference = findPlanDifference(result.plan, plan.summary);
    if (difference !== null) {
      throw usageError(
        `this load is not that of '${file}': ${difference} (A: the file, B: this load)`,
      );
    }
  }
}
