import { MillraceError } from '../../errors/millrace-error.js';
import type { LoadOptions } from '../../load/options.js';
import { buildPlan, FUTURE_SERVER } from '../../load/plan/plan.js';
import type { LoadResult, PlanSummary } from '../../load/result.js';
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
    : // A copy, which the caller does not change meanwhile.
      [checkLoadResult(JSON.parse(JSON.stringify(baseline)), 'the baseline')];
  const plan = await buildPlan(options, options.command ? FUTURE_SERVER : undefined);
  for (const result of results) {
    const expected = options.command ? withSchemeOf(result.plan, plan.summary) : plan.summary;
    const difference = findPlanDifference(result.plan, expected);
    if (difference === null) continue;
    const [that, where] = isFile ? [`'${baseline}'`, 'the file'] : ['the baseline', 'the baseline'];
    throw new MillraceError(
      'ERR_MILLRACE_DIFFERENT',
      `this load is not that of ${that}: ${difference} (A: ${where}, B: this load); store this one too (-o FILE), and millrace compare A B --allow-difference compares them`,
    );
  }
  return { results, label: isFile ? baseline : 'the baseline' };
}

/** A plan with the scheme of the earlier one, if that is http: what a command's server speaks is not known yet. */
function withSchemeOf(
  { handshake }: Partial<PlanSummary>,
  plan: Partial<PlanSummary>,
): Partial<PlanSummary> {
  return handshake === null ? { ...plan, handshake, verifyCertificate: null } : plan;
}
