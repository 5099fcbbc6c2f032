import { MillraceError } from '../errors.js';
import type { Findings, InvestigationOptions } from './investigation-types.js';
import { measureBaseline } from './phases/baseline.js';
import { ExperimentRunner } from './phases/experiment-runner.js';
import type { ServerUnderTest } from './target/server-under-test.js';

/**
 * Looks, suspects, tries, and decides. What ends it early once the load as asked for has been seen (the caller, the
 * server's end) ends the trials, and what was found by then is given.
 */
export async function investigate(
  subject: ServerUnderTest,
  options: InvestigationOptions,
): Promise<Findings> {
  const { requestSample, signal } = options;
  const baseline = await measureBaseline(subject, requestSample, options);
  const runner = new ExperimentRunner(subject, baseline, options);
  try {
    await runner.runLiveExperiments();
    await runner.rampConnections();
    await runner.takeProfile();
    await runner.repeatRemedy();
    await runner.measureProbeCost();
    await runner.runRestartExperiments();
  } catch (error) {
    const ended = isServerGone(error) || subject.endReason !== null;
    if (!ended && error !== signal.reason) throw error;
    if (ended)
      runner.skippedExperiments.push(
        `further experiments: the server ${subject.endReason ?? 'is gone'}`,
      );
  }
  return { ...runner.result(), interrupted: signal.aborted };
}

/** The server does not answer any more, or does not start again. */
function isServerGone(error: unknown): boolean {
  if (!(error instanceof MillraceError)) return false;
  return error.code === 'ERR_MILLRACE_UNREACHABLE' || error.code === 'ERR_MILLRACE_COMMAND';
}
