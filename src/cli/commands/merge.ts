import { basename } from 'node:path';
import { expandPattern } from '../../compare/stored/stored.js';
import { usageError } from '../../errors/millrace-error.js';
import { refuseSecondInput } from '../../files/standard-input.js';
import { type LoadResult, mergeResults } from '../../index.js';
import { parseCondition } from '../../load/plan/condition.js';
import { EXIT, exitCode } from '../exit.js';
import type { MergeInvocation } from '../flags/stored/merge-flags.js';
import { importReport } from '../import-report.js';
import { checkInputsKept, checkOutputs, writeResult } from '../output.js';
import { printMessage } from '../terminal/print.js';

/** Adds up the results of the files, and reports the sum as that of one load. */
export async function mergeCommand(invocation: MergeInvocation): Promise<number> {
  const files = invocation.files.flatMap(expandPattern);
  checkOutputs(invocation);
  checkInputsKept(invocation, files);
  refuseSecondInput(files);
  const { readResult, identifyResult } = await importReport();
  const { failOn, strict, allowDifference, allowMissing } = invocation;
  // One file is in memory at a time.
  function* readAll(): Generator<LoadResult> {
    for (const file of files) {
      const result = readResult(file);
      const kind = identifyResult(result);
      if (kind !== 'load') {
        throw usageError(`'${file}' is a result of ${kind}: merge takes those of load and run`);
      }
      yield result as LoadResult;
    }
  }
  const merged = mergeResults(readAll(), {
    names: nameFiles(files),
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

/** Names results by their files: without folder and `.json`, if that tells them apart. */
function nameFiles(files: readonly string[]): string[] {
  const short = files.map((file) => basename(file).replace(/\.json$/, ''));
  return new Set(short).size === short.length ? short : [...files];
}

function describeFailures(merged: LoadResult): string[] {
  return (merged.conditions ?? []).flatMap(({ condition, holds }) => {
    if (holds) return [];
    const failure = parseCondition(condition, '--fail-on').failure(merged);
    return [`--fail-on '${condition}' failed${failure === null ? '' : `: ${failure}`}`];
  });
}
