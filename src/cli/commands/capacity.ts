import { type CapacityLevel, type CapacityResult, capacity } from '../../index.js';
import { EXIT } from '../exit.js';
import type { CapacityInvocation } from '../flags/capacity-flags.js';
import { printNotes } from '../output.js';
import { runAndReport } from '../run-and-report.js';
import { requireTarget } from '../target.js';
import { askPassphrase } from '../terminal/passphrase.js';

/** Measures the capacity of the server that the command line names. */
export async function capacityCommand(invocation: CapacityInvocation): Promise<number> {
  const { options, own, slo } = invocation;
  await askPassphrase(options);
  requireTarget(
    invocation,
    "capacity needs a server: millrace capacity [--slo 'p99<50ms'] URL, or millrace capacity -- COMMAND",
  );
  printNotes(invocation);
  const objective = slo.length > 0 ? { slo } : {};
  return runAndReport(invocation, {
    start: (signal) => capacity({ ...options, ...own, ...objective, signal }),
    before: 'anything was measured',
    toStep: (progress) => progress,
    exitCode,
  });
}

function exitCode({ sweep, search, warnings }: CapacityResult): number {
  if (warnings.some(({ id }) => id === 'target-not-reached')) return EXIT.unreachable;
  const ended = sweep?.ended ?? search?.ended;
  if (ended === 'server-ended') return EXIT.unreachable;
  if (sweep) return sweep.levels.some(isAnswered) ? EXIT.ok : EXIT.unreachable;
  if (search?.rate) return EXIT.ok;
  return ended === 'never-holds' ? EXIT.failOn : EXIT.notMeasured;
}

/** Whether a request of a level was answered with success. */
function isAnswered({ errorShare, throughput }: CapacityLevel): boolean {
  return errorShare < 1 && throughput.mean > 0;
}
