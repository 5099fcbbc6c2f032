import { expandPattern } from '../../compare/stored/stored.js';
import { usageError } from '../../errors/millrace-error.js';
import { refuseSecondInput } from '../../files/standard-input.js';
import { type LoadResult, mergeResults } from '../../index.js';
import { parseCondition } from '../../load/plan/condition.js';
import { EXIT, exitCode } from '../exit.js';
import { findMergeInputs } from '../files/merge-inputs.js';
import type { MergeInvocation } from '../flags/stored/merge-flags.js';
import { checkInputsKept, checkOutputs, writeResult } from '../output.js';
import { printMessage } from '../terminal/print.js';

/** Adds up the results of the files, and reports the sum as that of one load. */
export async function mergeCommand(invocation: MergeInvocation): Promise<number> {
  const files = invocation.files.flatMap(expandPattern);
  checkOutputs(invocation);
  checkInputsKept(invocation, files);
  refuseSecondInput(files);
  const { failOn, strict, allowDifference, allowMissing } = invocation;
  const inputs = await findMergeInputs(files, allowMissing);
  // One result is in memory at a time.
  function* readAll(): Generator<LoadResult> {
    for (const { read } of inputs) yield read();
  }
  const merged = mergeResults(readAll(), {
    names: inputs.map(({ name }) => name),
    ...(failOn.length > 0 && { failOn: failOn.map(({ text }) => text) }),
    ...{ allowDifference, allowMissing },
  });
  const { conditions = [] } = merged;
  if (invocation.junit !== undefined && conditions.length === 0) {
    throw usageError('--junit needs conditions: --fail-on here, or of the runs');
  }
  await writeResult(merged, invocation);
  const failed = conditions.filter(({ holds }) => !holds);
  for (const line of describeFailures(merged)) printMessage(line);
  const code = exitCode(merged, {
    strict,
    conditions: conditions.length,
    failedConditions: failed.length,
  });
  if (code === EXIT.interrupted) printMessage(INCOMPLETE);
  return code;
}

const INCOMPLETE =
  'a run was interrupted: what --fail-on and --strict ask for was not measured to its end (exit code 130)';

function describeFailures(merged: LoadResult): string[] {
  return (merged.conditions ?? []).flatMap(({ condition, holds }) => {
    if (holds) return [];
    const failure = parseCondition(condition, '--fail-on').failure(merged);
    return [`--fail-on '${condition}' failed${failure === null ? '' : `: ${failure}`}`];
  });
}
