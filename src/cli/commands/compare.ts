import { expandPattern } from '../../compare/stored/stored.js';
import { refuseSecondInput } from '../../files/standard-input.js';
import { type ComparisonResult, compare } from '../../index.js';
import { EXIT } from '../exit.js';
import type { CompareInvocation } from '../flags/compare/invocation.js';
import { checkInputsKept, printNotes } from '../output.js';
import { runAndReport } from '../run-and-report.js';
import { askPassphrase } from '../terminal/passphrase.js';
import { printMessage } from '../terminal/print.js';

/** Compares the two sides that the command line names. */
export async function compareCommand(invocation: CompareInvocation): Promise<number> {
  const { options, own, sides, ratios, strict } = invocation;
  const files = [sides.a, sides.b].flatMap(({ files = [] }) => files.flatMap(expandPattern));
  checkInputsKept(invocation, files);
  refuseSecondInput(files);
  await askPassphrase(options);
  printNotes(invocation);
  return runAndReport(invocation, {
    start: (signal) => compare({ ...options, ...own, ...sides, failOn: ratios, signal }),
    before: 'the first pair of runs was complete',
    toStep: (progress) => progress,
    exitCode(result) {
      for (const line of describeConditions(result)) printMessage(line);
      return exitCode(result, strict);
    },
  });
}

function describeConditions({ conditions = [] }: ComparisonResult): string[] {
  return conditions.flatMap(({ condition, value, holds, reason }) => {
    if (holds === true) return [];
    const ratio = value === null ? 'there is no ratio' : `the ratio is ${value.toFixed(3)}`;
    if (holds === false) return [`--fail-on '${condition}' failed: ${ratio}`];
    const measured = value === null ? '' : ` (${ratio})`;
    return [`--fail-on '${condition}' is undecided: ${reason}${measured}`];
  });
}

function exitCode(
  { ended, conditions = [], runs, verdict }: ComparisonResult,
  strict: boolean,
): number {
  if (ended === 'interrupted') return EXIT.interrupted;
  if (conditions.some(({ holds }) => holds === false)) return EXIT.failOn;
  const isUnknown = conditions.some(({ holds }) => holds === null);
  const isDoubtful = verdict.word === 'cannot-tell';
  const isClientBound = strict && isDoubtful && runs.some(({ clientBound }) => clientBound);
  return isUnknown || isClientBound ? EXIT.notMeasured : EXIT.ok;
}
