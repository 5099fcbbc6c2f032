import type { Interval } from '../../statistics/types.js';
import { EXPERIMENT_LABELS, type ExperimentName } from '../experiment-names.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import type { Metrics } from '../metrics/types.js';
import { EXPERIMENTS } from './definitions.js';
import type { Experiment } from './experiment.js';
import type { ExperimentSetting } from './setting.js';

/** Minimum weight of a hypothesis at which it deserves an experiment of its own. */
export const MIN_WEIGHT = 0.45;

/**
 * Ranks the possible experiments by how informative they are, the best first: an experiment is worth as much as the
 * change that a hypothesis predicts of it, times the weight of that hypothesis.
 */
export function rankExperiments(
  metrics: Metrics,
  hypotheses: Hypothesis[],
  setting: ExperimentSetting,
): { experiment: Experiment; worth: number }[] {
  const strong = hypotheses.filter(({ weight }) => weight >= 0.4);
  return EXPERIMENTS.flatMap((experiment) => {
    const isFirst = experiment.name === 'connections-x2' && metrics.model === 'closed';
    if (experiment.findObstacle(setting, metrics) !== null) return [];
    const worth = Math.max(
      0,
      ...strong.map((hypothesis) => computeInformation(hypothesis, experiment) * hypothesis.weight),
    );
    if (isFirst) return [{ experiment, worth: Math.max(worth, FIRST_EXPERIMENT_WORTH) }];
    return worth > 0.03 ? [{ experiment, worth }] : [];
  }).sort((a, b) => b.worth - a.worth);
}

/** Worth of 'connections-x2', which is the first experiment of every closed load. */
const FIRST_EXPERIMENT_WORTH = 3;

/** Computes how far the predictions of an experiment's results are from "no change". */
function computeInformation({ predictions }: Hypothesis, { name, derived }: Experiment): number {
  const results = [name, ...(derived ? [derived] : [])];
  return Math.max(...results.map((one) => computeDistance(predictions[one])));
}

/** Computes the logarithmic distance of a prediction from "no change", reduced where it includes "no change". */
function computeDistance(predicted: Interval | undefined): number {
  if (!predicted) return 0;
  const middle = Math.sqrt(Math.max(1e-6, predicted.low) * predicted.high);
  const certainty = predicted.low > 1 || predicted.high < 1 ? 1 : AMBIGUOUS;
  return Math.min(2, certainty * Math.abs(Math.log(middle)));
}

/** Factor for a prediction that "no change" would fulfil too. */
const AMBIGUOUS = 0.3;

/** Lists the informative experiments that are not possible here, with the reason. */
export function findSkippedExperiments(
  metrics: Metrics,
  hypotheses: Hypothesis[],
  setting: ExperimentSetting,
): string[] {
  const all: ExperimentSetting = {
    hasProbe: true,
    isNativeStack: false,
    canRestart: true,
    canAddLoad: true,
    canChangeDependencies: true,
    socketPath: null,
  };
  const strong = hypotheses.filter(({ weight }) => weight >= MIN_WEIGHT);
  return rankExperiments(metrics, strong, all).flatMap(({ experiment, worth }) => {
    const why = experiment.findObstacle(setting, metrics);
    return why !== null && worth > MIN_REPORTED_WORTH
      ? [`${EXPERIMENT_LABELS[experiment.name]}: ${why}`]
      : [];
  });
}

/** Minimum worth of an experiment whose absence is told. */
export const MIN_REPORTED_WORTH = 0.2;

/** Whether an experiment starts another server. */
export function needsServer(experiment: Experiment, metrics: Metrics): boolean {
  const { environment, withSecondProcess } = experiment.change(metrics, {});
  return environment !== undefined || withSecondProcess === true;
}

/** Selects the experiments that fit into the time, in their order. */
export function selectWithinTime(
  experiments: Experiment[],
  leftMs: number,
  estimateMs: (experiment: Experiment) => number,
): Experiment[] {
  let spentMs = 0;
  return experiments.filter((experiment) => {
    const ms = estimateMs(experiment);
    if (spentMs + ms > leftMs) return false;
    spentMs += ms;
    return true;
  });
}

/** Orders the experiments so that those which need the first server precede those which end it. */
export function orderByServer(experiments: Experiment[]): Experiment[] {
  const place = ({ name }: Experiment) => LAST_EXPERIMENTS.indexOf(name);
  return experiments.toSorted((a, b) => place(b) - place(a));
}

/** The experiments that run first, in reverse order. */
const LAST_EXPERIMENTS: ExperimentName[] = ['second-process', 'restart'];
