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
  const { sampled, signal } = options;
  const looked = await measureBaseline(subject, sampled, options);
  const trials = new ExperimentRunner(subject, looked, options);
  try {
    await trials.runLiveExperiments();
    await trials.rampConnections();
    await trials.takeProfile();
    await trials.repeatRemedy();
    await trials.measureProbeCost();
    await trials.runRestartExperiments();
  } catch (error) {
    const ended = isGone(error) || subject.ended !== null;
    if (!ended && error !== signal.reason) throw error;
    if (ended)
      trials.skippedExperiments.push(
        `further experiments: the server ${subject.ended ?? 'is gone'}`,
      );
  }
  return { ...trials.result(), interrupted: signal.aborted };
}

/** The server does not answer any more, or does not start again. */
function isGone(error: unknown): boolean {
  if (!(error instanceof MillraceError)) return false;
  return error.code === 'ERR_MILLRACE_UNREACHABLE' || error.code === 'ERR_MILLRACE_COMMAND';
}
