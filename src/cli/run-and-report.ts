import type { OutputOptions } from './flags/output-flags.js';
import type { Formats } from './formats.js';
import { checkOutputs, writeResult } from './output.js';
import { runInterruptible } from './terminal/interrupt.js';
import { type Step, showSteps } from './terminal/progress.js';

/** A run in several steps, its formatters and its exit code. */
interface ReportedRun<Progress, Result> extends Formats<Result> {
  start(signal: AbortSignal): AsyncIterable<Progress> & PromiseLike<Result>;
  /** The end of the message "interrupted before ..." for a run without a result. */
  before: string;
  toStep(progress: Progress): Step;
  exitCode(result: Result): number;
}

/** Runs until the end or the first interrupt, shows the progress, writes the result and resolves with the exit code. */
export function runAndReport<Progress, Result>(
  output: OutputOptions & { notes?: string[] },
  { start, before, toStep, exitCode, ...formats }: ReportedRun<Progress, Result>,
): Promise<number> {
  checkOutputs(output);
  return runInterruptible(before, async (signal) => {
    const result = await showSteps(start(signal), output.progress, toStep);
    await writeResult(result, output, formats);
    return exitCode(result);
  });
}
