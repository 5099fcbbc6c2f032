// Reasons to doubt the iterations of scenarios.
import { count, plural, rate, time } from '../../../format/units.js';
import type { LoadResult, StepResult } from '../../result.js';
import { countPlanned, isBelowRate } from '../planned-rate.js';
import { countFailures, describeReason } from './failure-words.js';

/** The length of an example in a sentence. */
const MAX_EXAMPLE = 200;

/** Says why no iteration was completed, and which step failed most; `null` if one was, or there are no scenarios. */
export function checkNoIteration(result: LoadResult): string | null {
  const { iterations = null, durationMs } = result;
  if (iterations === null || iterations.completed > 0) return null;
  const { started, failed, inProgress, notStarted, durationMs: times } = iterations;
  if (started === 0) {
    return notStarted > 0
      ? 'No iteration was completed: none began, as no user was free.'
      : 'No iteration was completed: none was due. Run longer (-d).';
  }
  if (failed > 0) return `No iteration was completed: ${describeWorstStep(result)}.`;
  return `No iteration was completed: ${plural(inProgress, 'iteration')} had not ended when the run ended after ${time(durationMs)}, the oldest after ${time(times.max)}. Run longer (-d).`;
}

/** Describes the step that failed most often, by its most frequent reason. */
function describeWorstStep({ steps }: LoadResult): string {
  const [step] = steps.toSorted((one, other) => countFailures(other) - countFailures(one));
  const [failure] = step?.failures.toSorted((one, other) => other.count - one.count) ?? [];
  if (!step || !failure) return 'all failed';
  const { what, example } = explain(step, failure);
  const cut = example.length > MAX_EXAMPLE ? `${example.slice(0, MAX_EXAMPLE)}…` : example;
  return `step '${step.name}' failed ${plural(countFailures(step), 'time')}; ${what}: ${cut}`;
}

/** Names the check or the value that a failure is of, with what was found instead. */
function explain(
  { checks, saves }: StepResult,
  { reason, example }: StepResult['failures'][number],
): { what: string; example: string } {
  const [check] = checks.toSorted((one, other) => other.failed - one.failed);
  if (reason === 'check' && check) {
    return { what: `check '${check.check}' failed`, example: check.example ?? example };
  }
  const needed = saves.filter(({ optional }) => !optional);
  const [save] = needed.toSorted((one, other) => other.missing - one.missing);
  if (reason === 'save' && save) {
    const what = `nothing to save as '${save.variable}' from ${save.from}`;
    return { what, example: save.example ?? example };
  }
  return { what: describeReason(reason), example };
}

/** Counts iterations that were due and could not begin. */
export function checkNotStarted({ iterations = null, plan }: LoadResult): string | null {
  if (iterations === null || iterations.notStarted === 0) return null;
  const users = plan.flows ? ` of ${count(plan.flows.users)}` : '';
  return `${plural(iterations.notStarted, 'iteration')} due but not started: no user${users} was free. Allow more users (--users), or lower the rate (-R).`;
}

/** Says that the rate of iterations was not reached. */
export function checkIterationRate({
  iterations = null,
  plan,
  durationMs,
}: LoadResult): string | null {
  if (iterations === null || plan.model === 'closed') return null;
  const { started, inProgress, rate: completed, durationMs: times } = iterations;
  // By Little's law; a service that falls behind has twice as many in progress at the end.
  const usual = durationMs > 0 ? (started * (times.mean ?? 0)) / durationMs : 0;
  const backlog = Math.max(0, inProgress - 1.5 * usual);
  if (!isBelowRate(plan, durationMs, started - backlog)) return null;
  const perSecond = (iterations: number) => `${rate((iterations * 1000) / durationMs)}/s`;
  return `The rate was not reached: planned ${perSecond(countPlanned(plan, durationMs))} iterations, started ${perSecond(started)}, completed ${rate(completed)}/s. Lower it (-R), or allow more users (--users).`;
}
