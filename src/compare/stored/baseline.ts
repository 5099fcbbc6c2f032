import { MillraceError } from '../../errors.js';
import type { LoadOptions } from '../../load/options.js';
import { buildPlan, FUTURE_SERVER } from '../../load/plan/plan.js';
import type { LoadResult } from '../../load/result.js';
import { findPlanDifference } from '../differences/plan-difference.js';
import type { CompareSide } from '../options.js';
import { checkLoadResult, readStoredResults } from './stored.js';

/**
 * Reads an earlier result, or the results that a file or a pattern of files has, for a comparison with that of a load.
 * Throws a `MillraceError` before the load if they cannot be compared (`ERR_MILLRACE_DIFFERENT`), or cannot be read.
 */
export async function readBaseline(
  baseline: string | LoadResult,
  options: LoadOptions,
): Promise<CompareSide> {
  const isFile = typeof baseline === 'string';
  const results = isFile
    ? readStoredResults([baseline])
    : [checkLoadResult({ ...baseline }, 'the baseline')];
  const plan = await buildPlan(options, options.command ? FUTURE_SERVER : undefined);
  for (const result of results) {
    const difference = findPlanDifference(result.plan, plan.summary);
    if (difference === null) continue;
    const [that, where] = isFile ? [`'${baseline}'`, 'the file'] : ['the baseline', 'the baseline'];
    throw new MillraceError(
      'ERR_MILLRACE_DIFFERENT',
      `this load is not that of ${that}: ${difference} (A: ${where}, B: this load)`,
    );
  }
  return isFile ? { files: [baseline] } : { results, label: 'the baseline' };
}
