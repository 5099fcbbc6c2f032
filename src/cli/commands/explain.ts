import { type CpuProfile, type Explanation, explain } from '../../index.js';
import { EXIT } from '../exit.js';
import { checkProfileFolder, writeProfiles } from '../files/profile-folder.js';
import type { ExplainInvocation } from '../flags/explain-flags.js';
import { printNotes } from '../output.js';
import { runAndReport } from '../run-and-report.js';
import { requireTarget } from '../target.js';
import { askPassphrase } from '../terminal/passphrase.js';
import { printNote, printText } from '../terminal/print.js';
import { watchCommand } from './watch.js';

/** Explains the limit of the server that the command line names. */
export async function explainCommand(invocation: ExplainInvocation): Promise<number> {
  const { options, own, list, why, profile } = invocation;
  await askPassphrase(options);
  if (list || why !== undefined) return printCatalogue(why);
  if (invocation.watch) return watchCommand(invocation);
  requireTarget(
    invocation,
    'explain needs a server: millrace explain URL [--pid N], or millrace explain -- COMMAND',
  );
  printNotes(invocation);
  // `--pid` of explain is among its own options.
  const { pid: _, ...load } = options;
  if (profile !== undefined) checkProfileFolder(profile);
  let cpuProfile: CpuProfile | null = null;
  const wanted =
    profile === undefined ? {} : { onCpuProfile: (it: CpuProfile) => (cpuProfile = it) };
  return runAndReport(invocation, {
    start: (signal) => explain({ ...load, ...own, ...wanted, signal }),
    before: 'the first measurement',
    toStep: (progress) => progress,
    exitCode,
    ...(profile !== undefined && {
      afterwards: async (result: Explanation) => {
        const names = await writeProfiles(profile, result, cpuProfile);
        const what = names.length > 0 ? names.join(', ') : 'nothing: no profile was taken';
        printNote(`profiles in ${profile}: ${what}`);
      },
    }),
  });
}

function exitCode({ load, serverEnded }: Explanation): number {
  const isUnreached = load.warnings.some(({ id }) => id === 'target-not-reached');
  const hasFailed = load.requests.ok === 0 || isUnreached || serverEnded !== null;
  return hasFailed ? EXIT.unreachable : EXIT.ok;
}

async function printCatalogue(limit: string | undefined): Promise<number> {
  const { formatCatalogue, formatEntry } = await import('../../report/explain/catalogue.js');
  printText(limit === undefined ? formatCatalogue() : formatEntry(limit));
  return EXIT.ok;
}
