import { MillraceError } from '../errors/millrace-error.js';
import type { Findings } from './findings.js';
import { measureBaseline } from './phases/baseline.js';
import { ExperimentRunner } from './phases/experiment-runner.js';
import type { InvestigationOptions } from './phases/options.js';
import type { ServerUnderTest } from './target/server-under-test.js';

/**
 * Runs baseline, hypotheses, experiments and verdict. If the caller or the end of the server interrupts it after the
 * baseline, returns the partial result.
 */
export async function investigate(
  subject: ServerUnderTest,
  options: InvestigationOptions,
): Promise<Findings> {
  const { requestSample, signal } = options;
  const baseline = await measureBaseline(subject, requestSample, options);
  const runner = new ExperimentRunner(subject, baseline, options);
  try {
    await runner.countPoolJobs();
    await runner.findWrittenFiles();
    await runner.runLiveExperiments();
    await runner.rampConnections();
    await runner.takeProfile();
    await runner.observeWaits();
    await runner.repeatRemedy();
    await runner.measureProbeCost();
    await runner.runRestartExperiments();
    await runner.functions.sample();
    await runner.functions.compareHeaps();
  } catch (error) {
    const ended = isServerGone(error) || subject.endReason !== null;
    if (!ended && error !== signal.reason) throw error;
    if (ended)
      runner.recordSkipped(
        `further experiments: the server ${subject.endReason ?? 'no longer answers'}`,
      );
  }
  return { ...runner.result(), interrupted: signal.aborted };
}

/** Whether an error means that the server no longer answers, or does not start again. */
function isServerGone(error: unknown): boolean {
  if (!(error instanceof MillraceError)) return false;
  return error.code === 'ERR_MILLRACE_UNREACHABLE' || error.code === 'ERR_MILLRACE_COMMAND';
}
