import { MillraceError, usageError } from '../../errors/millrace-error.js';
import { conclude } from '../conclude.js';
import { findPlanDifference } from '../differences/plan-difference.js';
import type { CompareOptions, CompareSide } from '../options.js';
import { checkConditionNames } from '../ratio-condition.js';
import type { ComparisonResult, ComparisonSideName } from '../result.js';
import { describeSide } from '../servers/sides.js';
import type { CompareSettings } from '../settings.js';
import type { SideResult } from '../warnings.js';
import { readStoredResults } from './stored.js';

/** Compares stored results; nothing is run. */
export function compareStored(
  options: CompareOptions,
  settings: CompareSettings,
): ComparisonResult {
  const startedAt = new Date();
  const runs = (['a', 'b'] as const).flatMap((side) => readSide(side, options[side]));
  const [first] = runs;
  if (!first) throw usageError('a needs at least one result');
  const difference = findDifference(runs);
  if (difference !== null && !settings.allowDifference) {
    throw new MillraceError(
      'ERR_MILLRACE_DIFFERENT',
      `the plans of these results differ: ${difference}; --allow-difference compares them all the same`,
    );
  }
  const names = runs.flatMap(({ result }) => (result.byName ?? []).map(({ name }) => name));
  checkConditionNames(settings.conditions, [...new Set(names)]);
  return conclude({
    settings,
    startedAt,
    sides: { a: describeSide('a', options), b: describeSide('b', options) },
    runs,
    ended: 'files',
    differences: difference === null ? [] : [`plans: ${difference}`],
  });
}

function readSide(side: ComparisonSideName, own: CompareSide): SideResult[] {
  for (const option of ['command', 'url', 'env', 'cwd', 'stack'] as const) {
    if (own[option] === undefined) continue;
    throw usageError(`${side}.${option} is for a server: the results of ${side} are stored`);
  }
  const { files = [], results = [] } = own;
  const all = [...readStoredResults(files), ...results];
  if (all.length === 0) throw usageError(`${side} needs at least one result`);
  return all.map((result) => ({ side, pair: null, result }));
}

/** The first difference of a plan from that of A's first result. */
function findDifference(runs: readonly SideResult[]): string | null {
  const [first, ...others] = runs;
  for (const { result } of others) {
    const difference = first ? findPlanDifference(first.result.plan, result.plan) : null;
    if (difference !== null) return difference;
  }
  return null;
}
