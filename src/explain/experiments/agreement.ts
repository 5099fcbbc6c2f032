import { factor, measuredRatio } from '../../format/ratios.js';
import type { Interval } from '../../statistics/types.js';
import { EXPERIMENT_LABELS, type ExperimentName } from '../experiment-names.js';
import { ANY_RATIO, type Hypothesis, UNCHANGED } from '../hypotheses/hypothesis.js';
import type { ExperimentResult } from '../result.js';
import { EXPERIMENTS } from './definitions.js';
import type { Experiment } from './experiment.js';

/** Finds what a hypothesis predicts for an experiment; `null` if nothing. */
export function findPrediction(
  hypothesis: Hypothesis,
  experiment: ExperimentName,
): Interval | null {
  const listed = hypothesis.predictions[experiment];
  if (listed) return listed === ANY_RATIO ? null : listed;
  if (!OF_THROUGHPUT.has(experiment)) return null;
  return hypothesis.unlisted === 'unchanged' ? UNCHANGED : null;
}

/** Experiments that compare throughput: of all others hypotheses predict nothing by default. */
const OF_THROUGHPUT = listExperiments(({ metric }) => metric === undefined);

function listExperiments(has: (experiment: Experiment) => boolean): ReadonlySet<ExperimentName> {
  return new Set(EXPERIMENTS.filter(has).map(({ name }) => name));
}

/** Whether an experiment measured something else than the hypothesis predicts. */
export function isContradicted(
  experiment: ExperimentResult,
  hypothesis: Hypothesis,
  noise: number,
): boolean {
  const predicted = findPrediction(hypothesis, experiment.name);
  return predicted !== null && contradicts(experiment, predicted, noise);
}

/** Whether the outcome of an experiment contradicts a prediction: it is outside of it, and not merely a larger effect. */
export function contradicts(
  experiment: ExperimentResult,
  predicted: Interval,
  noise: number,
): boolean {
  return (
    !hasOverlap(experiment.measured, predicted, noise) && !isLargerEffect(experiment, predicted)
  );
}

/**
 * Whether an experiment on a limit itself had the predicted effect, but more of it: then the limit is larger than was
 * estimated, which is no reason to exclude it. Of experiments that every cause of a busy loop predicts the bounds count.
 */
export function isLargerEffect(
  { name, measured, otherwise }: ExperimentResult,
  predicted: Interval,
): boolean {
  if (BUSY_LOOP_EXPERIMENTS.has(name)) return false;
  return predicted.low > otherwise
    ? measured.low > predicted.high
    : predicted.high < otherwise && measured.high < predicted.low;
}

/** Whether the hypothesis predicted a change, and the experiment measured it or more. */
export function isSupportedBy(
  experiment: ExperimentResult,
  hypothesis: Hypothesis,
  noise: number,
): boolean {
  const { name, measured, otherwise } = experiment;
  const predicted = hypothesis.predictions[name];
  // A busy loop is no evidence of what keeps it busy.
  if (!predicted || (hypothesis.causeOf === 'event-loop-cpu' && BUSY_LOOP_EXPERIMENTS.has(name)))
    return false;
  const active = predicted.low > otherwise || predicted.high < otherwise;
  // Drift affects both blocks of a pair: the interval includes most of the noise already.
  const minChange = Math.min(noise, MIN_CHANGE);
  const moved = measured.low > otherwise + minChange || measured.high < otherwise - minChange;
  return active && moved && !contradicts(experiment, predicted, noise);
}

/** Whether an experiment measured as much as the hypothesis predicted: what supports it, but not by a larger effect. */
export function isPredictedBy(
  experiment: ExperimentResult,
  hypothesis: Hypothesis,
  noise: number,
): boolean {
  const predicted = findPrediction(hypothesis, experiment.name);
  return (
    predicted !== null &&
    isSupportedBy(experiment, hypothesis, noise) &&
    hasOverlap(experiment.measured, predicted, noise)
  );
}

/** Experiments that remove only a part of a cause. */
export const PARTIAL_EXPERIMENTS = listExperiments(({ isPartial }) => isPartial === true);

/** Minimum change that supports a hypothesis. */
const MIN_CHANGE = 0.05;

/** Experiments that every cause of a busy loop predicts alike. */
const BUSY_LOOP_EXPERIMENTS = listExperiments(({ isOfBusyLoop }) => isOfBusyLoop === true);

/** Whether the measured interval, widened by the noise, overlaps the predicted one. */
export function hasOverlap(measured: Interval, predicted: Interval, noise: number): boolean {
  return (
    measured.high * (1 + noise) >= predicted.low && measured.low / (1 + noise) <= predicted.high
  );
}

export function describeContradiction(
  { name, measured }: ExperimentResult,
  hypothesis: Hypothesis,
): string {
  const predicted = findPrediction(hypothesis, name) ?? UNCHANGED;
  return `${EXPERIMENT_LABELS[name]}: it predicts ${factor(predicted)}, measured ${measuredRatio(measured)}`;
}

/** Lists the changes that a cause of a busy loop predicts for experiments of its own. */
export function listOwnPredictions({ predictions }: Hypothesis): Map<ExperimentName, Interval> {
  const changes = (Object.entries(predictions) as [ExperimentName, Interval][]).filter(
    ([name, { low, high }]) => !BUSY_LOOP_EXPERIMENTS.has(name) && (low > 1 || high < 1),
  );
  return new Map(changes);
}
