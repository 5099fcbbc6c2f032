import { constants, setPriority } from 'node:os';
import {
  type ComparisonResult,
  compare,
  type LoadResult,
  type LoadRun,
  load,
} from '../../index.js';
import { printsReport } from '../documents.js';
import { EXIT, exitCode } from '../exit.js';
import type { Invocation } from '../flags/load/invocation.js';
import { COMPARISON_FORMATS, LOAD_FORMATS } from '../formats.js';
import { checkOutputs, printNotes, textOptions, writeResult } from '../output.js';
import { hasTarget, refuseDemo, refuseUrlAsFile } from '../target.js';
import { runInterruptible } from '../terminal/interrupt.js';
import { askPassphrase } from '../terminal/passphrase.js';
import { printMessage, printNote, printText } from '../terminal/print.js';
import { showProgress } from '../terminal/progress.js';

/** Loads the target of the command line, or the server of the demo, and reports. */
export async function loadCommand(invocation: Invocation): Promise<number> {
  const { options, typed } = invocation;
  await askPassphrase(options);
  printNotes(invocation);
  if (hasTarget(options)) return runAndReport(invocation);
  refuseUrlAsFile(typed);
  refuseDemo(typed);
  const { prepareDemo, NEXT_STEPS } = await import('./demo.js');
  printBeside(await prepareDemo(invocation), invocation);
  const code = await runAndReport(invocation);
  printBeside(NEXT_STEPS, invocation);
  return code;
}

/** Prints a text in addition to the report: to stderr where stdout has none. */
function printBeside(text: string, invocation: Invocation): void {
  if (printsReport(invocation)) printText(text);
  else printNote(text);
}

async function runAndReport(invocation: Invocation): Promise<number> {
  const { options, strict, failOn, baseline } = invocation;
  checkOutputs(invocation);
  if (baseline !== undefined) {
    await (await import('../../compare/stored/baseline.js')).checkBaseline(baseline, options);
  }
  const conditions = failOn.map(({ text }) => text);
  return runInterruptible('a request was sent', async (signal) => {
    const result = await runWithProgress(
      { ...options, failOn: conditions, abortOnFail: invocation.abortOnFail, signal },
      invocation,
    );
    const comparison = baseline === undefined ? null : await compareWith(baseline, result);
    await writeResult(result, invocation, {
      ...LOAD_FORMATS,
      text: () => importText(result, invocation),
      markdown: () => importMarkdown(comparison),
    });
    if (comparison) {
      const format = await COMPARISON_FORMATS.text();
      printBeside(`\n${format(comparison, textOptions())}`, invocation);
    }
    const failures = failOn.flatMap(({ text, failure }) => {
      const measured = failure(result);
      return measured === null ? [] : [`--fail-on '${text}' failed: ${measured}`];
    });
    for (const line of failures) printMessage(line);
    const code = exitCode(result, {
      strict,
      conditions: failOn.length,
      failedConditions: failures.length + (result.abortedBy === undefined ? 0 : 1),
    });
    if (code === EXIT.interrupted && result.requests.sent > 0) {
      printMessage(INCOMPLETE);
    }
    return code;
  });
}

const INCOMPLETE =
  'interrupted: what --fail-on and --strict ask for was not measured to its end (exit code 130)';

async function runWithProgress(
  options: Invocation['options'],
  { progress, prometheus }: Pick<Invocation, 'progress' | 'prometheus'>,
): Promise<LoadResult> {
  if (prometheus) return runWithMetrics(options, progress, prometheus);
  return showRun(load(options), progress);
}

/** Runs while the running figures are served. */
async function runWithMetrics(
  options: Invocation['options'],
  progress: boolean,
  address: NonNullable<Invocation['prometheus']>,
): Promise<LoadResult> {
  const { serveMetrics } = await import('../metrics-endpoint.js');
  const { BUCKETS_MS } = await import('../../report/prometheus.js');
  const endpoint = await serveMetrics(address);
  try {
    printNote(`metrics: ${endpoint.url}`);
    const run = load({ ...options, buckets: [...BUCKETS_MS] });
    endpoint.follow(run).catch(() => {});
    return await showRun(run, progress);
  } finally {
    endpoint.close();
  }
}

async function showRun(run: LoadRun, progress: boolean): Promise<LoadResult> {
  // The failure of the run is reported where the run is awaited.
  lowerPriority(run).catch(() => {});
  if (progress) await showProgress(run);
  return run;
}

/**
 * Lowers the priority of this thread once the threads of the engine run, so that they go first on a shared core. On
 * Linux a thread has a priority of its own, elsewhere the process has one.
 */
async function lowerPriority(run: LoadRun): Promise<void> {
  for await (const _ of run) {
    try {
      if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
    } catch {
      // The system does not permit it: the schedule may be less exact.
    }
    return;
  }
}

/** Imports the formatter of the report, which the hint of this run follows. */
async function importText(
  run: LoadResult,
  invocation: Invocation,
): ReturnType<typeof LOAD_FORMATS.text> {
  const [format, hint] = await Promise.all([LOAD_FORMATS.text(), formatHint(run, invocation)]);
  return (result, options) => [format(result, options), ...hint].join('\n\n');
}

/** Imports the renderer of the Markdown, which that of the comparison with the baseline follows. */
async function importMarkdown(
  comparison: ComparisonResult | null,
): Promise<(result: LoadResult) => string> {
  const { renderLoadMarkdown } = await import('../../report/markdown.js');
  if (!comparison) return renderLoadMarkdown;
  const { renderComparisonMarkdown } = await import('../../report/compare/markdown.js');
  return (result) => `${renderLoadMarkdown(result)}\n${renderComparisonMarkdown(comparison)}`;
}

/** Compares a result with an earlier one. */
async function compareWith(baseline: string, result: LoadResult): Promise<ComparisonResult> {
  const b = { results: [result], label: 'this run' };
  return compare({ a: { files: [baseline] }, b });
}

/** Formats a hint at the limit and the command that explains it; empty if no command started the server. */
async function formatHint(result: LoadResult, { demo, args }: Invocation): Promise<string[]> {
  if (!result.plan.command) return [];
  const { quickHint } = await import('../../explain/quick-hint.js');
  const hint = quickHint(result);
  if (!hint) return [];
  const { wrapText } = await import('../../report/text.js');
  const { explainLine } = await import('../explain-line.js');
  const sentence = `${hint.sentence.charAt(0).toUpperCase()}${hint.sentence.slice(1)}`;
  const command = demo ? null : explainLine(args);
  const line = `Why not more? ${sentence}${command === null ? '' : ' To be sure:'}`;
  // The command is not wrapped, so that it can be copied.
  const lines = [wrapText(line, textOptions()), ...(command === null ? [] : [`  ${command}`])];
  return [lines.join('\n')];
}
