import type { Interval } from '../../statistics/types.js';
import type { ExperimentName } from '../experiment-names.js';
import {
  findPrediction,
  hasOverlap,
  isSupportedBy,
  listOwnPredictions,
  PARTIAL_EXPERIMENTS,
} from '../experiments/agreement.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import type { ExperimentResult } from '../result.js';

/** Minimum weight and share of the loop's time at which an untested cause may be what a busy loop is busy with. */
const [MIN_OPEN_WEIGHT, MIN_OPEN_SHARE] = [0.6, 0.25];

/**
 * Finds the rivals of the chosen hypothesis: those whose predictions agree with the outcome of every experiment, as its
 * own do. `others` contains only hypotheses that no experiment contradicts.
 */
export function findRivals(
  chosen: Hypothesis,
  others: Hypothesis[],
  experiments: ExperimentResult[],
  noise: number,
): Hypothesis[] {
  const supporting = experiments.filter((experiment) => isSupportedBy(experiment, chosen, noise));
  return others.filter((rival) => {
    // What the chosen limit causes is true as well, only less specific.
    if (rival.limit === chosen.causeOf || isSymptomOf(rival, chosen)) return false;
    if (rival.causeOf === chosen.limit) return isOpenCause(rival, experiments);
    if (rival.causeOf === undefined || rival.causeOf !== chosen.causeOf) return true;
    return supporting.every((experiment) =>
      hasOverlap(experiment.measured, predictAsSibling(rival, experiment), noise),
    );
  });
}

/** Minimum share of a logger in the loop's time at which lines that it has not written yet may fill the memory. */
const MIN_LOGGING_SHARE = 0.25;

/**
 * Whether a limit only shows another one: what each request leaves in memory is what later requests go through, or the
 * lines of a logger that are not written yet.
 */
export function isSymptomOf(one: Hypothesis, { limit, loopShare = 0 }: Hypothesis): boolean {
  if (one.limit !== 'memory-growth' || one.weight >= 1) return false;
  return limit === 'degrades-over-time' || (limit === 'logging' && loopShare >= MIN_LOGGING_SHARE);
}

/** Whether a cause has an experiment of its own that was not made, and may take a good part of the loop's time. */
function isOpenCause(cause: Hypothesis, experiments: ExperimentResult[]): boolean {
  const own = listOwnPredictions(cause);
  return (
    cause.weight >= MIN_OPEN_WEIGHT &&
    (cause.loopShare ?? 1) >= MIN_OPEN_SHARE &&
    own.size > 0 &&
    !experiments.some(({ name }) => own.has(name) && !PARTIAL_EXPERIMENTS.has(name))
  );
}

/** What one cause of a busy loop predicts for the experiment on another: no change, unless it says otherwise. */
function predictAsSibling(
  { predictions }: Hypothesis,
  { name, otherwise }: ExperimentResult,
): Interval {
  return predictions[name] ?? { low: otherwise, high: otherwise };
}

/** An experiment for which two hypotheses predict different results. */
export interface TellingExperiment {
  name: ExperimentName;
  predicted: [Interval, Interval];
}

/** Finds the experiments that would tell two hypotheses apart, the most different predictions first. */
export function findTellingExperiments(a: Hypothesis, b: Hypothesis): TellingExperiment[] {
  const listed = [...Object.keys(a.predictions), ...Object.keys(b.predictions)];
  const names = new Set(listed as ExperimentName[]);
  const telling = [...names].flatMap((name) => {
    const [first, second] = [findPrediction(a, name), findPrediction(b, name)];
    if (!first || !second) return [];
    const distance = Math.max(first.low / second.high, second.low / first.high);
    const predicted: [Interval, Interval] = [first, second];
    return distance > 1 ? [{ name, distance, predicted }] : [];
  });
  return telling
    .sort((one, other) => other.distance - one.distance)
    .map(({ name, predicted }) => ({ name, predicted }));
}
