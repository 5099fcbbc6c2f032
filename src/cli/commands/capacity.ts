import { type CapacityResult, capacity } from '../../index.js';
import { EXIT } from '../exit.js';
import type { CapacityInvocation } from '../flags/capacity-flags.js';
import { runInterruptible } from '../interrupt.js';
import { checkOutputs, printNotes, textOptions, writeResult } from '../output.js';
import { askPassphrase } from '../passphrase.js';
import { showSteps } from '../progress.js';
import { requireTarget } from '../target.js';

/** Measures the capacity of the server that the command line names. */
export async function capacityCommand(invocation: CapacityInvocation): Promise<number> {
  const { options, own, slo, progress, notes } = invocation;
  await askPassphrase(options);
  requireTarget(
    invocation,
    "capacity needs a server: millrace capacity [--slo 'p99<50ms'] URL, or millrace capacity -- COMMAND",
  );
  printNotes(invocation);
  checkOutputs(invocation);
  return runInterruptible('anything was measured', async (signal) => {
    const objective = slo.length > 0 ? { slo } : {};
    const run = capacity({ ...options, ...own, ...objective, signal });
    const result = await showSteps(run, progress, (step) => step);
    await writeResult(result, invocation, {
      text: async (result) =>
        (await import('../../report/capacity/text.js')).formatCapacityText(
          result,
          textOptions(notes),
        ),
      page: async (result) =>
        (await import('../../report/capacity/html.js')).renderCapacityPage(result),
    });
    return exitCode(result);
  });
}

function exitCode({ sweep, search, warnings }: CapacityResult): number {
  if (warnings.some(({ id }) => id === 'target-not-reached')) return EXIT.unreachable;
  const ended = sweep?.ended ?? search?.ended;
  if (ended === 'server-ended') return EXIT.unreachable;
  if (sweep)
    return sweep.levels.some(({ errorShare }) => errorShare < 1) ? EXIT.ok : EXIT.unreachable;
  if (search?.rate) return EXIT.ok;
  return ended === 'never-holds' ? EXIT.failOn : EXIT.notMeasured;
}
