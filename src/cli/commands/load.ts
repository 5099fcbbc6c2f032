import { constants, setPriority } from 'node:os';
import { usageError } from '../../errors.js';
import { type LoadResult, type LoadRun, load } from '../../index.js';
import type { Condition } from '../../load/plan/condition.js';
import type { ConditionResult } from '../../load/result.js';
import { maskText } from '../../masking/text.js';
import { EXIT, exitCode } from '../exit.js';
import { UNSUPPORTED_FLAGS } from '../flags/foreign-flags.js';
import { type Invocation, newInvocation } from '../flags/invocation.js';
import { addUrl, LOAD_FLAGS } from '../flags/load-flags.js';
import { parseArguments, type TypedFlag } from '../flags/parse.js';
import { onInterrupt } from '../interrupt.js';
import { checkOutputs, textOptions, writeResult } from '../output.js';
import { askPassphrase } from '../passphrase.js';
import { showProgress } from '../progress.js';
import { hasTarget, refuseDemo, refuseUrlAsFile } from '../target.js';
import { noteUndecoded } from '../undecoded.js';

/** Loads what the command line names, or the demo, and reports. */
export async function loadCommand(args: string[]): Promise<number> {
  const { invocation, flags } = readInvocation(args);
  await askPassphrase(invocation.options);
  // The report shows the notes, JSON has no place for them.
  if (invocation.json)
    for (const note of invocation.notes) console.error(`note: ${maskText(note)}`);
  if (!hasTarget(invocation.options)) {
    refuseUrlAsFile(flags);
    refuseDemo(flags);
    const { prepareDemo, nextSteps } = await import('./demo.js');
    const introduction = await prepareDemo(invocation);
    say(introduction, invocation);
    const code = await runAndReport(invocation);
    say(nextSteps, invocation);
    return code;
  }
  return runAndReport(invocation);
}

function readInvocation(args: string[]): { invocation: Invocation; flags: TypedFlag[] } {
  const invocation = { ...newInvocation(), args };
  const { positional, command, flags } = parseArguments(
    args,
    LOAD_FLAGS,
    invocation,
    UNSUPPORTED_FLAGS,
  );
  for (const url of positional) addUrl(invocation, url);
  invocation.notes.push(...noteUndecoded(args));
  if (command?.length === 0) throw usageError('-- given without a command after it');
  if (command) invocation.options.command = command;
  if (invocation.abortOnFail && invocation.failOn.length === 0) {
    throw usageError('--abort-on-fail needs --fail-on: a condition to end the run by');
  }
  return { invocation, flags };
}

/** Beside the report: with `--json` stdout is for the JSON alone. */
function say(text: string, { json }: Invocation): void {
  if (json) console.error(text);
  else console.log(text);
}

async function runAndReport(invocation: Invocation): Promise<number> {
  const { options, strict, failOn, output, html } = invocation;
  checkOutputs(output, html);
  const abort = new AbortController();
  const listenNoLonger = onInterrupt(() => abort.abort());
  const abortOnFail = invocation.abortOnFail ? failOn.map(({ text }) => text) : [];
  try {
    const measured = await runShown(
      { ...options, abortOnFail, signal: abort.signal },
      invocation.progress,
    );
    const conditions = failOn.map((condition) => evaluateCondition(condition, measured));
    const result = conditions.length > 0 ? { ...measured, conditions } : measured;
    await report(result, invocation);
    const failures = failOn.flatMap(({ text, failure }) => {
      const measured = failure(result);
      return measured === null ? [] : [`--fail-on '${text}' failed: ${measured}`];
    });
    for (const line of failures) console.error(`millrace: ${line}`);
    const code = exitCode(result, {
      strict,
      conditions: failOn.length,
      failedConditions: failures.length + (result.abortedBy === undefined ? 0 : 1),
    });
    if (code === EXIT.interrupted && result.requests.sent > 0) {
      console.error(`millrace: ${UNJUDGED}`);
    }
    return code;
  } catch (error) {
    if (error !== abort.signal.reason) throw error;
    console.error('millrace: interrupted before a request was sent');
    return EXIT.interrupted;
  } finally {
    listenNoLonger();
  }
}

function evaluateCondition(condition: Condition, result: LoadResult): ConditionResult {
  const { text } = condition;
  const holds = condition.failure(result) === null && text !== result.abortedBy;
  return { condition: text, value: condition.measured(result), holds };
}

const UNJUDGED =
  'interrupted: what --fail-on and --strict ask for was not measured to its end (exit code 130)';

async function runShown(options: Invocation['options'], progress: boolean): Promise<LoadResult> {
  const run = load(options);
  stepBack(run).catch(() => {}); // The run's own failure is reported by who awaits it.
  if (progress) await showProgress(run);
  return run;
}

/**
 * Lets the engine's threads go first on a core that they share with this one, once they have been started. On Linux
 * a priority is a thread's, elsewhere the process's.
 */
async function stepBack(run: LoadRun): Promise<void> {
  for await (const _ of run) {
    try {
      if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
    } catch {
      // A system that does not permit it: the schedule may be less exact.
    }
    return;
  }
}

async function report(result: LoadResult, invocation: Invocation): Promise<void> {
  const { json, output, html } = invocation;
  const asJson = `${JSON.stringify(result, null, 2)}\n`;
  if (json) process.stdout.write(asJson);
  else
    console.log(
      [await asText(result, invocation), ...(await why(result, invocation))].join('\n\n'),
    );
  if (output !== undefined) writeResult(output, asJson);
  if (html === undefined) return;
  const { renderLoadPage } = await import('../../report/html.js');
  writeResult(html, renderLoadPage(result));
}

/** The short form of an explanation, where a server was started: it is at hand for the long one. */
async function why(result: LoadResult, { demo, args }: Invocation): Promise<string[]> {
  if (!result.plan.command) return [];
  const { quickHint } = await import('../../explain/quick-hint.js');
  const seen = quickHint(result);
  if (!seen) return [];
  const { wrapText } = await import('../../report/text.js');
  const { explainLine } = await import('../explain-line.js');
  const sentence = `${seen.sentence.charAt(0).toUpperCase()}${seen.sentence.slice(1)}`;
  const longer = demo ? null : explainLine(args);
  const line = `Why not more? ${sentence}${longer === null ? '' : ' To be sure:'}`;
  // To be copied, so it is not wrapped.
  return [
    [wrapText(line, textOptions([])), ...(longer === null ? [] : [`  ${longer}`])].join('\n'),
  ];
}

async function asText(result: LoadResult, { notes }: Invocation): Promise<string> {
  const { formatLoadText } = await import('../../report/text.js');
  return formatLoadText(result, textOptions(notes));
}
