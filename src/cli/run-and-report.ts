import type { AnyResult } from '../report/index.js';
import type { OutputOptions } from './flags/output-flags.js';
import { checkOutputs, writeResult } from './output.js';
import { runInterruptible } from './terminal/interrupt.js';
import { type Step, showSteps } from './terminal/progress.js';

/** A run in several steps, and its exit code. */
interface ReportedRun<Progress, Result extends AnyResult> {
  start(signal: AbortSignal): AsyncIterable<Progress> & PromiseLike<Result>;
  /** The end of the message "interrupted before ..." for a run without a result. */
  before: string;
  toStep(progress: Progress): Step;
  exitCode(result: Result): number;
  /** Runs when the result is written. */
  afterwards?(result: Result): Promise<void>;
}

/** Runs until the end or the first interrupt, shows the progress, writes the result and resolves with the exit code. */
export function runAndReport<Progress, Result extends AnyResult>(
  output: OutputOptions & { notes?: string[] },
  { start, before, toStep, exitCode, afterwards }: ReportedRun<Progress, Result>,
): Promise<number> {
  checkOutputs(output);
  return runInterruptible(before, async (signal) => {
    const result = await showSteps(start(signal), output.progress, toStep);
    await writeResult(result, output);
    await afterwards?.(result);
    return exitCode(result);
  });
}
