import { type Explanation, explain } from '../../index.js';
import { EXIT } from '../exit.js';
import type { ExplainInvocation } from '../flags/explain-flags.js';
import { runInterruptible } from '../interrupt.js';
import { checkOutputs, printNotes, textOptions, writeResult } from '../output.js';
import { askPassphrase } from '../passphrase.js';
import { showSteps } from '../progress.js';
import { requireTarget } from '../target.js';

/** Explains what limits the server that the command line names. */
export async function explainCommand(invocation: ExplainInvocation): Promise<number> {
  const { options, own, list, why, progress, notes } = invocation;
  await askPassphrase(options);
  if (list || why !== undefined) return printCatalogue(why);
  requireTarget(
    invocation,
    'explain needs a server: millrace explain URL [--pid N], or millrace explain -- COMMAND',
  );
  printNotes(invocation);
  checkOutputs(invocation);
  const { pid: _, ...load } = options;
  return runInterruptible('the first measurement', async (signal) => {
    const run = explain({ ...load, ...own, signal });
    const explanation = await showSteps(run, progress, (step) => step);
    await writeResult(explanation, invocation, {
      text: async (result) =>
        (await import('../../report/explain/text.js')).formatExplanationText(
          result,
          textOptions(notes),
        ),
      page: async (result) =>
        (await import('../../report/explain/html.js')).renderExplanationPage(result),
    });
    return exitCode(explanation);
  });
}

function exitCode({ load, serverEnded }: Explanation): number {
  const isUnreached = load.warnings.some(({ id }) => id === 'target-not-reached');
  const hasFailed = load.requests.ok === 0 || isUnreached || serverEnded !== null;
  return hasFailed ? EXIT.unreachable : EXIT.ok;
}

async function printCatalogue(limit: string | undefined): Promise<number> {
  const { formatCatalogue, formatEntry } = await import('../../report/explain/catalogue.js');
  console.log(limit === undefined ? formatCatalogue() : formatEntry(limit));
  return EXIT.ok;
}
