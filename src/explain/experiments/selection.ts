import type { Hypothesis } from '../hypotheses/hypothesis.js';
import type { Metrics } from '../metrics/types.js';
import { EXPERIMENTS, type Experiment } from './definitions.js';
import type { ExperimentName, ExperimentSetting } from './types.js';

/** A suspect below this weight is not worth an experiment of its own. */
export const MIN_WEIGHT = 0.45;

/**
 * The experiments that tell the suspects apart, the most telling first: those in which a suspect predicts something
 * that a rival does not, weighed by how likely the suspect is.
 */
export function rankExperiments(
  metrics: Metrics,
  hypotheses: Hypothesis[],
  setting: ExperimentSetting,
): { experiment: Experiment; worth: number }[] {
  const strong = hypotheses.filter(({ weight }) => weight >= 0.4);
  return EXPERIMENTS.flatMap((experiment) => {
    const isFirst = experiment.name === 'connections x2' && metrics.model === 'closed';
    if (experiment.findObstacle(setting, metrics) !== null) return [];
    const worth = Math.max(
      0,
      ...strong.map(
        (hypothesis) => computeInformation(hypothesis, experiment.name) * hypothesis.weight,
      ),
    );
    if (isFirst) return [{ experiment, worth: Math.max(worth, FIRST_EXPERIMENT_WORTH) }];
    return worth > 0.03 ? [{ experiment, worth }] : [];
  }).sort((a, b) => b.worth - a.worth);
}

/** Whether more requests in flight give more is asked of every closed load. */
const FIRST_EXPERIMENT_WORTH = 3;

/** How far from "no change" a suspect predicts, as a logarithm: less where it could not be told from "no change". */
function computeInformation({ predictions }: Hypothesis, name: ExperimentName): number {
  const predicted = predictions[name];
  if (!predicted) return 0;
  const middle = Math.sqrt(Math.max(1e-6, predicted.low) * predicted.high);
  const certainty = predicted.low > 1 || predicted.high < 1 ? 1 : AMBIGUOUS;
  return Math.min(2, certainty * Math.abs(Math.log(middle)));
}

/** What a prediction is worth that "no change" would fulfil, too. */
const AMBIGUOUS = 0.3;

/** The experiments that would tell more and cannot be made here. */
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
    socketPath: null,
  };
  const strong = hypotheses.filter(({ weight }) => weight >= MIN_WEIGHT);
  return rankExperiments(metrics, strong, all).flatMap(({ experiment, worth }) => {
    const why = experiment.findObstacle(setting, metrics);
    return why !== null && worth > 0.2 ? [`${experiment.name}: ${why}`] : [];
  });
}

/** Whether an experiment starts a server. */
export function needsServer(experiment: Experiment, metrics: Metrics): boolean {
  const { environment, withSecondProcess } = experiment.change(metrics, {});
  return environment !== undefined || withSecondProcess === true;
}

/** Those for which the time is enough, where each comes before what tells less. */
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

/** What needs the first server comes before what ends it. */
export function orderByServer(experiments: Experiment[]): Experiment[] {
  const place = ({ name }: Experiment) => LAST_EXPERIMENTS.indexOf(name);
  return experiments.toSorted((a, b) => place(b) - place(a));
}

/** From the last to the first; others come after them. */
const LAST_EXPERIMENTS: string[] = ['second process', 'fresh start'];
