import { usageError } from '../../errors/millrace-error.js';
import {
  type BaselineOptions,
  type ComparedLoadResult,
  type ComparedLoadRun,
  dryRun,
  type LoadOptions,
  type LoadResult,
  type LoadRun,
  load,
  loadOnHosts,
} from '../../index.js';
import { printsReport } from '../documents.js';
import { EXIT, exitCode } from '../exit.js';
import { nameSegmentFiles } from '../files/segment-files.js';
import { HOSTS_FLAGS } from '../flags/load/hosts-flags.js';
import type { Invocation } from '../flags/load/invocation.js';
import { importReport } from '../import-report.js';
import { checkOutputs, logResult, printNotes, textOptions, writeResult } from '../output.js';
import { followRun, joinBuckets, type RunFollower } from '../run-follower.js';
import { hasTarget, refuseDemo, refuseUrlAsFile } from '../target.js';
import { runInterruptible } from '../terminal/interrupt.js';
import { askPassphrase } from '../terminal/passphrase.js';
import { printMessage, printNote, printText } from '../terminal/print.js';
import { lowerPriority } from '../terminal/priority.js';
import { showHostsProgress, showProgress } from '../terminal/progress.js';

/** Loads the target of the command line, or the server of the demo, and reports. */
export async function loadCommand(invocation: Invocation): Promise<number> {
  const { options, typed } = invocation;
  nameSegmentFiles(invocation);
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
  if (invocation.hosts) refuseOfOneMachine(invocation);
  else refuseConnecting(invocation);
  if (invocation.logResult && !printsReport(invocation)) {
    throw usageError(
      '--log-result is printed below the report: not with --json, or another output on standard output',
    );
  }
  if (invocation.dryRun) return showDryRun(options);
  const conditions = failOn.map(({ text }) => text);
  return runInterruptible('a request was sent', async (signal) => {
    const all = {
      ...{ ...options, failOn: conditions, abortOnFail: invocation.abortOnFail, signal },
      ...(baseline !== undefined && { baseline }),
    };
    const { comparison, ...result } = invocation.hosts
      ? await runOnHosts(invocation.hosts, all, invocation)
      : await runWithProgress(all, invocation);
    await writeResult(result, invocation, {
      ...(await describeHint(result, invocation)),
      ...(comparison && { markdown: comparison }),
    });
    if (invocation.logResult) await logResult(result);
    if (comparison) {
      const { formatText } = await importReport();
      printBeside(`\n${formatText(comparison, textOptions())}`, invocation);
    }
    const failures = failOn.flatMap(({ text, failure }) => {
      const measured = failure(result);
      return measured === null ? [] : [`--fail-on '${text}' failed: ${measured}`];
    });
    for (const line of [...listFailedHosts(result, invocation), ...failures]) printMessage(line);
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

/** Lines about hosts without a result, where no report has them. */
function listFailedHosts({ warnings }: LoadResult, invocation: Invocation): string[] {
  if (printsReport(invocation)) return [];
  return warnings.flatMap(({ id, message }) => (id === 'host-failed' ? [message] : []));
}

/** Flags that are those of one machine, and what to do instead. */
function refuseOfOneMachine(invocation: Invocation): void {
  const { dryRun, prometheus, otlp, baseline, abortOnFail } = invocation;
  const refused: [flag: string, isGiven: boolean, advice: string][] = [
    ['--dry-run', dryRun, 'it sends single requests from here: leave out --hosts'],
    ['--prometheus', prometheus !== undefined, 'it serves the figures of one machine'],
    ['--otlp', otlp !== undefined, 'it pushes the figures of one machine'],
    ['--baseline', baseline !== undefined, 'millrace compare OLD.json NEW.json compares later'],
    ['--abort-on-fail', abortOnFail, 'conditions are judged at the end, on the whole'],
  ];
  const found = refused.find(([, isGiven]) => isGiven);
  if (found) throw usageError(`${found[0]} cannot be combined with --hosts: ${found[2]}`);
}

function refuseConnecting({ connecting }: Invocation): void {
  const [option] = Object.keys(connecting);
  if (option === undefined) return;
  const flag = HOSTS_FLAGS.find(
    ({ name }) => name.replace(/-(.)/g, (_, one) => one.toUpperCase()) === option,
  );
  throw usageError(`--${flag?.name ?? option} needs --hosts: the machines that run the load`);
}

/** Runs on several machines. */
async function runOnHosts(
  hosts: readonly string[],
  options: LoadOptions,
  { connecting, progress }: Invocation,
): Promise<Result> {
  const run = loadOnHosts(hosts, { ...options, ...connecting });
  if (progress) await showHostsProgress(run);
  return run;
}

/** Prints one iteration of each scenario. */
async function showDryRun(options: LoadOptions): Promise<number> {
  return runInterruptible('a request was sent', async (signal) => {
    const run = await dryRun({ ...options, signal });
    const { formatDryRun } = await importReport();
    printText(formatDryRun(run));
    return (run.result.iterations?.failed ?? 0) > 0 ? EXIT.unreachable : EXIT.ok;
  });
}

const INCOMPLETE =
  'interrupted: what --fail-on and --strict ask for was not measured to its end (exit code 130)';

/** Options of a load, perhaps with a baseline. */
type Options = LoadOptions & Partial<BaselineOptions>;
/** Its result, with the comparison if it had one. */
type Result = LoadResult & Partial<Pick<ComparedLoadResult, 'comparison'>>;

async function runWithProgress(
  options: Options,
  { progress, prometheus, otlp }: Pick<Invocation, 'progress' | 'prometheus' | 'otlp'>,
): Promise<Result> {
  const followers: RunFollower[] = [];
  try {
    if (otlp !== undefined) {
      const { pushMetrics } = await import('../otlp/push.js');
      followers.push(pushMetrics(otlp));
    }
    if (prometheus) followers.push(await servePrometheus(prometheus));
    if (followers.length === 0) return await showRun(load(options), progress);
    const run = load({ ...options, buckets: joinBuckets(followers) });
    const [result] = await Promise.all([showRun(run, progress), followRun(run, followers)]);
    return result;
  } finally {
    await Promise.all(followers.map((follower) => follower.close()));
  }
}

/** Serves the running figures. */
async function servePrometheus(
  address: NonNullable<Invocation['prometheus']>,
): Promise<RunFollower> {
  await importReport();
  const { serveMetrics } = await import('../metrics-endpoint.js');
  const endpoint = await serveMetrics(address);
  printNote(`metrics: ${endpoint.url}`);
  return endpoint;
}

async function showRun(run: LoadRun | ComparedLoadRun, progress: boolean): Promise<Result> {
  // The failure of the run is reported where the run is awaited.
  lowerPriorityOf(run).catch(() => {});
  if (progress) await showProgress(run);
  return run;
}

async function lowerPriorityOf(run: LoadRun | ComparedLoadRun): Promise<void> {
  for await (const _ of run) return lowerPriority();
}

/** Formats a hint at the limit and the command that explains it; empty if there is none. */
async function describeHint(
  result: LoadResult,
  invocation: Invocation,
): Promise<{ text?: string }> {
  if (!result.plan.command || !printsReport(invocation)) return {};
  const { formatHint } = await importReport();
  const { explainLine } = await import('../explain-line.js');
  const command = invocation.demo ? null : explainLine(invocation.args);
  const text = formatHint(result, { ...textOptions(), ...(command !== null && { command }) });
  return text === '' ? {} : { text };
}
