import { usageError } from '../../errors.js';
import { type Explanation, explain } from '../../index.js';
import { maskText } from '../../masking/text.js';
import { EXIT } from '../exit.js';
import {
  EXPLAIN_FLAGS,
  EXPLAIN_UNSUPPORTED_FLAGS,
  type ExplainInvocation,
  newExplainInvocation,
} from '../flags/explain-flags.js';
import { addUrl } from '../flags/load-flags.js';
import { parseArguments, type TypedFlag } from '../flags/parse.js';
import { onInterrupt } from '../interrupt.js';
import { checkOutputs, textOptions, writeResult } from '../output.js';
import { askPassphrase } from '../passphrase.js';
import { StepLine } from '../progress.js';
import { hasTarget, refuseUrlAsFile } from '../target.js';
import { noteUndecoded } from '../undecoded.js';

/** Explains what limits the server that the command line names. */
export async function explainCommand(args: string[]): Promise<number> {
  const { invocation, flags } = readInvocation(args);
  await askPassphrase(invocation.options);
  if (invocation.list || invocation.why !== undefined) return printCatalogue(invocation);
  if (!hasTarget(invocation.options)) {
    refuseUrlAsFile(flags);
    throw usageError(
      'explain needs a server: millrace explain URL [--pid N], or millrace explain -- COMMAND',
    );
  }
  if (invocation.json)
    for (const note of invocation.notes) console.error(`note: ${maskText(note)}`);
  const { output, html } = invocation;
  checkOutputs(output, html);
  return explainAndReport(invocation);
}

function readInvocation(args: string[]): { invocation: ExplainInvocation; flags: TypedFlag[] } {
  const invocation = newExplainInvocation();
  const { positional, command, flags } = parseArguments(
    args,
    EXPLAIN_FLAGS,
    invocation,
    EXPLAIN_UNSUPPORTED_FLAGS,
    'explain',
  );
  for (const url of positional) addUrl(invocation, url);
  invocation.notes.push(...noteUndecoded(args));
  if (command?.length === 0) throw usageError('-- given without a command after it');
  if (command) invocation.options.command = command;
  return { invocation, flags };
}

async function explainAndReport(invocation: ExplainInvocation): Promise<number> {
  const { options, pid, budgetMs, warmupMs, attach, allowMoreLoad } = invocation;
  const { pid: _, ...load } = options;
  const abort = new AbortController();
  const listenNoLonger = onInterrupt(() => abort.abort());
  const line = new StepLine(invocation.progress);
  try {
    const run = explain({
      ...load,
      ...(pid !== undefined && { pid }),
      ...(budgetMs !== undefined && { budget: budgetMs }),
      ...(warmupMs !== undefined && { warmup: warmupMs }),
      attach,
      allowMoreLoad,
      signal: abort.signal,
    });
    for await (const progress of run) line.show(progress);
    const explanation = await run;
    line.clear();
    await report(explanation, invocation);
    const { requests, warnings } = explanation.load;
    const isUnreached = warnings.some(({ id }) => id === 'target-not-reached');
    const failed = requests.ok === 0 || isUnreached || explanation.serverEnded !== null;
    return failed ? EXIT.unreachable : EXIT.ok;
  } catch (error) {
    line.clear();
    if (error !== abort.signal.reason) throw error;
    console.error('millrace: interrupted before the first measurement');
    return EXIT.interrupted;
  } finally {
    listenNoLonger();
  }
}

async function report(explanation: Explanation, invocation: ExplainInvocation): Promise<void> {
  const { json, output, html } = invocation;
  const asJson = `${JSON.stringify(explanation, null, 2)}\n`;
  if (json) process.stdout.write(asJson);
  else {
    const { formatExplanationText } = await import('../../report/explain/text.js');
    console.log(formatExplanationText(explanation, textOptions(invocation.notes)));
  }
  if (output !== undefined) writeResult(output, asJson);
  if (html === undefined) return;
  const { renderExplanationPage } = await import('../../report/explain/html.js');
  writeResult(html, renderExplanationPage(explanation));
}

async function printCatalogue({ why }: ExplainInvocation): Promise<number> {
  const { formatCatalogue, formatEntry } = await import('../../report/explain/catalogue.js');
  console.log(why === undefined ? formatCatalogue() : formatEntry(why));
  return EXIT.ok;
}
