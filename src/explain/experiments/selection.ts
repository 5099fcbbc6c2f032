import type { Hypothesis } from '../hypotheses/hypothesis.js';
import type { Metrics } from '../metrics/types.js';
import { EXPERIMENTS, type Experiment } from './definitions.js';
import type { ExperimentName, Setting } from './types.js';

/** A suspect below this weight is not worth an experiment of its own. */
export const WEAK = 0.45;

/**
 * The experiments that tell the suspects apart, the most telling first: those in which a suspect predicts something
 * that a rival does not, weighed by how likely the suspect is.
 */
export function rankExperiments(
  facts: Metrics,
  suspects: Hypothesis[],
  setting: Setting,
): { experiment: Experiment; worth: number }[] {
  const strong = suspects.filter(({ weight }) => weight >= 0.4);
  return EXPERIMENTS.flatMap((experiment) => {
    const isFirst = experiment.name === 'connections x2' && facts.model === 'closed';
    if (experiment.obstacle(setting, facts) !== null) return [];
    const worth = Math.max(
      0,
      ...strong.map((suspect) => spread(suspect, experiment.name) * suspect.weight),
    );
    if (isFirst) return [{ experiment, worth: Math.max(worth, ALWAYS) }];
    return worth > 0.03 ? [{ experiment, worth }] : [];
  }).sort((a, b) => b.worth - a.worth);
}

/** Whether more requests in flight give more is asked of every closed load. */
const ALWAYS = 3;

/** How far from "no change" a suspect predicts, as a logarithm: less where it could not be told from "no change". */
function spread({ predictions }: Hypothesis, name: ExperimentName): number {
  const predicted = predictions[name];
  if (!predicted) return 0;
  const middle = Math.sqrt(Math.max(1e-6, predicted.low) * predicted.high);
  const told = predicted.low > 1 || predicted.high < 1 ? 1 : UNTOLD;
  return Math.min(2, told * Math.abs(Math.log(middle)));
}

/** What a prediction is worth that "no change" would fulfil, too. */
const UNTOLD = 0.3;

/** The experiments that would tell more and cannot be made here. */
export function missedFor(facts: Metrics, suspects: Hypothesis[], setting: Setting): string[] {
  const all: Setting = {
    probe: true,
    nativeStack: false,
    restart: true,
    moreLoad: true,
    ownPath: null,
  };
  const strong = suspects.filter(({ weight }) => weight >= WEAK);
  return rankExperiments(facts, strong, all).flatMap(({ experiment, worth }) => {
    const why = experiment.obstacle(setting, facts);
    return why !== null && worth > 0.2 ? [`${experiment.name}: ${why}`] : [];
  });
}

/** Whether an experiment starts a server. */
export function needsServer(experiment: Experiment, facts: Metrics): boolean {
  const { environment, withSecondProcess } = experiment.change(facts, {});
  return environment !== undefined || withSecondProcess === true;
}

/** Those for which the time is enough, where each comes before what tells less. */
export function withinTime(
  experiments: Experiment[],
  leftMs: number,
  msOf: (experiment: Experiment) => number,
): Experiment[] {
  let spentMs = 0;
  return experiments.filter((experiment) => {
    const ms = msOf(experiment);
    if (spentMs + ms > leftMs) return false;
    spentMs += ms;
    return true;
  });
}

/** What needs the first server comes before what ends it. */
export function inOrder(experiments: Experiment[]): Experiment[] {
  const place = ({ name }: Experiment) => ORDER.indexOf(name);
  return experiments.toSorted((a, b) => place(b) - place(a));
}

/** From the last to the first; others come after them. */
const ORDER: string[] = ['second process', 'fresh start'];
