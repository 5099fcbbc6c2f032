import { packageVersion } from '../environment/version.js';
import { usageError } from '../errors/millrace-error.js';
import { evaluateCondition } from '../load/outcome/outcome.js';
import { parseCondition } from '../load/plan/condition.js';
import { checkConditionSubject } from '../load/plan/condition-subject.js';
import type { LoadResult, MergedResult } from '../load/result.js';
import { checkOptions } from '../validation/shape.js';
import { checkMergeable } from './check.js';
import { MERGE_OPTIONS, type MergeOptions, OTHER_MERGE_NAMES } from './options.js';
import { ResultSum } from './result-sum.js';
import { findMergedWarnings } from './warnings.js';

/**
 * Adds up results of loads, as those of several machines or of the shares of one run: counts, sums, errors, histograms and
 * windows exactly, so that the result is that of one generator that had sent all requests. The order of the results and
 * whether some were merged before make no difference. They are read one after the other, so that an iterable may read files.
 *
 * Throws a `MillraceError`: `ERR_MILLRACE_DIFFERENT` where plans differ, `ERR_MILLRACE_USAGE` for what cannot be merged.
 *
 * @example
 * const whole = mergeResults([await shareOfOne, await shareOfTwo], { names: ['one', 'two'] });
 */
export function mergeResults(
  results: Iterable<LoadResult>,
  options: MergeOptions = {},
): MergedResult {
  checkOptions(options, MERGE_OPTIONS, OTHER_MERGE_NAMES);
  const { names = [], failOn, allowDifference = false, allowMissing = false } = options;
  const texts = failOn === undefined ? null : [failOn].flat();
  for (const text of texts ?? []) parseCondition(text, 'failOn');
  const sum = new ResultSum({ allowDifference, hasConditions: texts !== null });
  let position = 0;
  for (const result of results) {
    addResult(sum, result, names[position] ?? null, position);
    position += 1;
  }
  if (position === 0) throw usageError('mergeResults takes at least one result');
  return guard('the results cannot be merged: a part of one', () => {
    const merged = sum.finish();
    refuseMissing(merged, allowMissing);
    return judge(merged, texts ?? sum.conditions);
  });
}

function addResult(
  sum: ResultSum,
  result: LoadResult,
  name: string | null,
  position: number,
): void {
  const label = name === null ? `result ${position + 1}` : `'${name}'`;
  guard(`${label} cannot be merged: a part of it`, () => {
    checkMergeable(result, label);
    sum.add(result, name, position);
  });
}

/** Turns the error of a result with other contents than it must have into a usage error that begins with `what`. */
function guard<Value>(what: string, use: () => Value): Value {
  try {
    return use();
  } catch (error) {
    if (![TypeError, RangeError, SyntaxError].some((kind) => error instanceof kind)) throw error;
    // Those of our own checks say what is wrong.
    const fault = error instanceof RangeError ? ` (${error.message})` : '';
    throw usageError(`${what} is missing or damaged${fault}`);
  }
}

function refuseMissing({ missing, generators }: MergedResult, allowMissing: boolean): void {
  if (missing === undefined || allowMissing) return;
  const count = generators[0]?.segment?.count ?? 0;
  const shares = missing.length === 1 ? 'share' : 'shares';
  const listed = missing.slice(0, MAX_LISTED).join(', ');
  const rest = missing.length > MAX_LISTED ? ` and ${missing.length - MAX_LISTED} more` : '';
  throw usageError(
    `${shares} ${listed}${rest} of ${count} missing: give ${missing.length === 1 ? 'its result' : 'their results'}, or --allow-missing (allowMissing) merges the others`,
  );
}

const MAX_LISTED = 10;

/** Judges the conditions on the whole, and finds reasons to doubt it. */
function judge(merged: MergedResult, texts: readonly string[]): MergedResult {
  const { plan, byName, generators } = merged;
  const subjects = {
    requests: byName.map(({ name }) => name),
    targets: plan.targets,
    scenarios: plan.flows?.scenarios.map(({ name }) => name) ?? null,
  };
  const conditions = texts.map((text) => {
    const condition = parseCondition(text, 'failOn');
    checkConditionSubject(condition, subjects);
    return evaluateCondition(condition, merged);
  });
  return {
    ...merged,
    ...(conditions.length > 0 && { conditions }),
    tool: { name: 'millrace', version: packageVersion() },
    warnings: findMergedWarnings(merged, generators),
  };
}
