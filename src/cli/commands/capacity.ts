import { usageError } from '../../errors.js';
import { type CapacityResult, type CapacityRun, capacity } from '../../index.js';
import { maskText } from '../../masking/text.js';
import { EXIT } from '../exit.js';
import {
  CAPACITY_FLAGS,
  CAPACITY_UNSUPPORTED_FLAGS,
  type CapacityInvocation,
  newCapacityInvocation,
} from '../flags/capacity-flags.js';
import { addUrl } from '../flags/load-flags.js';
import { parseArguments, type TypedFlag } from '../flags/parse.js';
import { onInterrupt } from '../interrupt.js';
import { checkOutputs, textOptions, writeResult } from '../output.js';
import { askPassphrase } from '../passphrase.js';
import { StepLine } from '../progress.js';
import { hasTarget, refuseUrlAsFile } from '../target.js';
import { noteUndecoded } from '../undecoded.js';

/** Finds out how much the server that the command line names can take. */
export async function capacityCommand(args: string[]): Promise<number> {
  const { invocation, flags } = readInvocation(args);
  await askPassphrase(invocation.options);
  if (!hasTarget(invocation.options)) {
    refuseUrlAsFile(flags);
    throw usageError(
      "capacity needs a server: millrace capacity [--slo 'p99<50ms'] URL, or millrace capacity -- COMMAND",
    );
  }
  if (invocation.json)
    for (const note of invocation.notes) console.error(`note: ${maskText(note)}`);
  const { output, html } = invocation;
  checkOutputs(output, html);
  return runAndReport(invocation);
}

function readInvocation(args: string[]): { invocation: CapacityInvocation; flags: TypedFlag[] } {
  const invocation = newCapacityInvocation();
  const parsed = parseArguments(
    args,
    CAPACITY_FLAGS,
    invocation,
    CAPACITY_UNSUPPORTED_FLAGS,
    'capacity',
  );
  for (const url of parsed.positional) addUrl(invocation, url);
  invocation.notes.push(...noteUndecoded(args));
  if (parsed.command?.length === 0) throw usageError('-- given without a command after it');
  if (parsed.command) invocation.options.command = parsed.command;
  return { invocation, flags: parsed.flags };
}

async function runAndReport(invocation: CapacityInvocation): Promise<number> {
  const { options, own, slo, progress } = invocation;
  const abort = new AbortController();
  const listenNoLonger = onInterrupt(() => abort.abort());
  try {
    const objective = slo.length > 0 ? { slo } : {};
    const run = capacity({ ...options, ...own, ...objective, signal: abort.signal });
    const result = await showAndAwait(run, progress);
    await report(result, invocation);
    return exitCode(result);
  } catch (error) {
    if (error !== abort.signal.reason) throw error;
    console.error('millrace: interrupted before anything was measured');
    return EXIT.interrupted;
  } finally {
    listenNoLonger();
  }
}

async function showAndAwait(run: CapacityRun, wanted: boolean): Promise<CapacityResult> {
  const line = new StepLine(wanted);
  try {
    for await (const progress of run) line.show(progress);
    return await run;
  } finally {
    line.clear();
  }
}

async function report(
  result: CapacityResult,
  { json, output, html, notes }: CapacityInvocation,
): Promise<void> {
  const asJson = `${JSON.stringify(result, null, 2)}\n`;
  if (json) process.stdout.write(asJson);
  else {
    const { formatCapacityText } = await import('../../report/capacity/text.js');
    console.log(formatCapacityText(result, textOptions(notes)));
  }
  if (output !== undefined) writeResult(output, asJson);
  if (html === undefined) return;
  const { renderCapacityPage } = await import('../../report/capacity/html.js');
  writeResult(html, renderCapacityPage(result));
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
