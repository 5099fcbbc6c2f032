import { join } from 'node:path';
import { type HistoryResult, readHistory } from '../../index.js';
import { EXIT } from '../exit.js';
import type { HistoryInvocation } from '../flags/stored/history-flags.js';
import { checkInputsKept, checkOutputs, writeResult } from '../output.js';

/** Shows the stored results of a folder over time. */
export async function historyCommand(invocation: HistoryInvocation): Promise<number> {
  checkOutputs(invocation);
  const history = readHistory(invocation.folder);
  checkInputsKept(invocation, listFiles(history));
  await writeResult(history, invocation);
  return EXIT.ok;
}

/** Lists the files that were read, which an output must not overwrite. */
function listFiles({ folder, plans, skipped }: HistoryResult): string[] {
  const runs = plans.flatMap(({ points }) => points.flatMap((point) => point.runs));
  return [...runs, ...skipped].map(({ file }) => join(folder, file));
}
