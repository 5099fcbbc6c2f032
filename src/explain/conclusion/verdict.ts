import type { Interval } from '../../statistics/types.js';
import type { ExperimentName } from '../experiment-names.js';
import {
  describeContradiction,
  isContradicted,
  isPredictedBy,
  isSupportedBy,
  listOwnPredictions,
} from '../experiments/agreement.js';
import type { Finding } from '../findings.js';
import type { Hypothesis } from '../hypotheses/hypothesis.js';
import { LIMITS } from '../limits/limits.js';
import { sustainsRate } from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import type { ExperimentResult } from '../result.js';
import { findRivals, isSymptomOf } from './rivals.js';
import { hidesEffects, measureVariation } from './variation.js';

/** Minimum weight of a hypothesis that can be the verdict. */
export const MIN_VERDICT_WEIGHT = 0.45;
/** Minimum weight at which the cause of a busy loop is the verdict in place of the busy loop. */
const MIN_CAUSE_WEIGHT = 0.6;
/** The same minimum for a cause that has an experiment of its own which does not support it. */
const MIN_UNTESTED_CAUSE_WEIGHT = 0.8;
/** Minimum share of a busy loop's time at which what takes it is its cause. */
const MIN_DOMINANT_SHARE = 0.4; // Source: judgment, docs/decisions/0006-explain.md
/** Minimum weight at which a severe limit precedes one that an experiment supports: a few errors do not. */
const MIN_SEVERE_WEIGHT = 0.7;

/**
 * Decides the verdict from the hypotheses and the experiments. `confirmed`: this limit predicted a change, an
 * experiment measured it, none contradicts the limit, and the outcome of one contradicts each rival. `likely`: the
 * signature was observed and nothing contradicts it. `no-limit`: the service sustains the rate. Otherwise `cannot-tell`,
 * also where unchanged blocks differ by nearly as much as the experiments change.
 *
 * @param noise the smallest relative change that differs from noise, see `estimateNoiseFloor`
 * @param unchanged throughput of the blocks with the unchanged load
 */
export function decideVerdict(
  metrics: Metrics,
  hypotheses: Hypothesis[],
  experiments: ExperimentResult[],
  noise: number,
  unchanged: readonly number[] = [],
): Finding {
  const assessed = hypotheses.map((hypothesis) => ({
    hypothesis,
    why: findContradiction(hypothesis, hypotheses, experiments, noise),
  }));
  const excluded = assessed.flatMap(({ hypothesis: { limit }, why }) =>
    why === null ? [] : [{ limit, why }],
  );
  const rank = (hypothesis: Hypothesis) =>
    rankHypothesis(hypothesis, metrics, hypotheses, experiments, noise);
  const left = assessed
    .filter(({ why, hypothesis }) => why === null && hypothesis.weight >= MIN_VERDICT_WEIGHT)
    .map(({ hypothesis }) => hypothesis)
    .sort((a, b) => rank(b) - rank(a) || b.weight - a.weight);
  const eligible = isKeepingUp(metrics)
    ? left.filter(({ limit }) => LIMITS[limit].mattersAtSustainedRate)
    : left;
  const [first] = eligible;
  const none = { chosen: null, rivals: [], excluded, hiddenBy: null };
  if (!first) {
    const status = isKeepingUp(metrics) ? 'no-limit' : 'cannot-tell';
    return { ...none, status, also: status === 'no-limit' ? [] : left };
  }
  const chosen = findCause(first, eligible, experiments, noise);
  const others = eligible.filter((hypothesis) => hypothesis !== chosen);
  const variation = measureVariation(unchanged);
  const supporting = experiments.filter((it) => isSupportedBy(it, chosen, noise));
  if (supporting.length === 0 && isInferred(chosen) && hidesEffects(variation, experiments)) {
    const noisy = others.find(({ limit }) => limit === 'noisy-machine');
    const also = eligible.filter((hypothesis) => hypothesis !== noisy).slice(0, 3);
    if (!noisy) return { ...none, status: 'cannot-tell', also, hiddenBy: variation };
    return { ...none, status: 'likely', chosen: noisy, also, hiddenBy: variation };
  }
  const rivals = findRivals(chosen, others, experiments, noise);
  const isClear = supporting.some(
    (experiment) =>
      isPredictedBy(experiment, chosen, noise) &&
      (experiment.metric !== 'throughput' || !hidesEffects(variation, [experiment])),
  );
  const status = isClear && rivals.length === 0 ? 'confirmed' : 'likely';
  return { status, chosen, also: others.slice(0, 3), rivals, excluded, hiddenBy: null };
}

/** Describes an experiment that contradicts a hypothesis; `null` if none does. */
function findContradiction(
  hypothesis: Hypothesis,
  hypotheses: Hypothesis[],
  experiments: ExperimentResult[],
  noise: number,
): string | null {
  // A limit is excluded with the broader one that it causes. Where it makes its own prediction, only that one counts.
  const wider = hypotheses.filter(({ limit }) => limit === hypothesis.causeOf);
  const isBoundBy = (one: Hypothesis, { name }: ExperimentResult) =>
    one === hypothesis || hypothesis.predictions[name as ExperimentName] === undefined;
  for (const one of [hypothesis, ...wider]) {
    const against = experiments.find(
      (experiment) => isBoundBy(one, experiment) && isContradicted(experiment, one, noise),
    );
    if (against) return describeContradiction(against, one);
  }
  return null;
}

/** Ranks a hypothesis among those that nothing contradicts: what makes others meaningless first, a symptom last. */
function rankHypothesis(
  hypothesis: Hypothesis,
  metrics: Metrics,
  hypotheses: Hypothesis[],
  experiments: ExperimentResult[],
  noise: number,
): number {
  if (isFatal(hypothesis)) return 3;
  if (hypotheses.some((other) => isSymptomOf(hypothesis, other))) return -1;
  const isSupported = (one: Hypothesis, experiment: ExperimentResult) =>
    isSupportedBy(experiment, one, noise);
  // Other programs on the machine are not the limit where a change of the service gains more than their absence would.
  const promised = (hypothesis.remedy?.predictedThroughput?.high ?? Infinity) / metrics.throughput;
  const isOutdone =
    hypothesis.limit === 'noisy-machine' &&
    experiments.some(
      (experiment) =>
        experiment.metric === 'throughput' &&
        experiment.measured.low >= promised &&
        hypotheses.some((other) => isSupported(other, experiment)),
    );
  if (isSevere(hypothesis) && !isOutdone) return 2;
  return experiments.some((experiment) => isSupported(hypothesis, experiment)) ? 1 : 0;
}

/** Whether a limit is inferred from how throughput responds to changes: its own place was not measured. */
function isInferred({ unlisted, isLocated }: Hypothesis): boolean {
  return unlisted === 'unchanged' && !isLocated;
}

/** Finds the cause of a busy loop, which is a better verdict than the busy loop itself. */
function findCause(
  first: Hypothesis,
  hypotheses: Hypothesis[],
  experiments: ExperimentResult[],
  noise: number,
): Hypothesis {
  const busy =
    first.causeOf === undefined ? first : hypotheses.find(({ limit }) => limit === first.causeOf);
  if (!busy) return first;
  const causes = hypotheses.filter((hypothesis) => {
    if (hypothesis.causeOf !== busy.limit || hypothesis.weight < MIN_CAUSE_WEIGHT) return false;
    // What takes most of the measured time is the cause, even if an experiment with one setting did not help.
    if ((hypothesis.loopShare ?? 0) >= MIN_DOMINANT_SHARE) return true;
    const own = listOwnPredictions(hypothesis);
    const made = experiments.filter(({ name }) => own.has(name));
    const supporting = made.filter((experiment) => isSupportedBy(experiment, hypothesis, noise));
    // A cause that takes a small part of the time is one of several.
    if (supporting.length > 0) return supporting.some(hasLargeEffect);
    // A cause whose experiment clearly fell short of its prediction is at most a part of the cost.
    const isOpen = made.every(
      ({ name, measured }) => measured.high >= computeGeometricMean(own.get(name)),
    );
    return isOpen && (own.size === 0 || hypothesis.weight >= MIN_UNTESTED_CAUSE_WEIGHT);
  });
  return causes[0] ?? busy;
}

/** Minimum change of throughput or cost, as a factor, at which what was changed took a good part of the time. */
const MIN_LARGE_EFFECT = 1.3;

function hasLargeEffect({ measured: { ratio } }: ExperimentResult): boolean {
  return ratio >= MIN_LARGE_EFFECT || ratio <= 1 / MIN_LARGE_EFFECT;
}

function computeGeometricMean(range: Interval | undefined): number {
  return range ? Math.sqrt(range.low * range.high) : 0;
}

/** Whether a process ended because of the limit, which errors follow from. */
function isFatal({ limit, weight }: Hypothesis): boolean {
  return limit === 'memory-growth' && weight >= 1;
}

/** Whether a severe limit precedes the others. */
function isSevere({ limit, weight }: Hypothesis): boolean {
  return LIMITS[limit].isSevere === true && weight >= MIN_SEVERE_WEIGHT;
}

/**
 * Whether the service answers an open load at its rate, so that no queue grows. The rate of clients is not known: they may
 * send less because they wait.
 */
export function isKeepingUp({ model, base, isWatched }: Metrics): boolean {
  return model === 'open' && !isWatched && sustainsRate(base);
}
