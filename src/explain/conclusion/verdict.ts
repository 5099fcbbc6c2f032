import { factor, measuredRatio } from '../../format/ratios.js';
import type { Range } from '../../statistics/types.js';
import type { ExperimentName } from '../experiments/types.js';
import { type Hypothesis, type RuledOut, UNCHANGED } from '../hypotheses/hypothesis.js';
import type { LimitId } from '../limits/ids.js';
import { sustainsRate } from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import type { ExperimentResult, Status } from '../result.js';

/** The verdict before it is put into words. */
export interface Finding {
  status: Status;
  /** The limit; `null` if nothing limits the load, or the limit is unknown. */
  chosen: Hypothesis | null;
  /** Further hypotheses that nothing contradicts. */
  also: Hypothesis[];
  /** Limits that an experiment contradicts. */
  excluded: RuledOut[];
}

/** Minimum weight of a hypothesis that can be the verdict. */
const MIN_VERDICT_WEIGHT = 0.45;
/** Minimum weight at which the cause of a busy loop is the verdict in place of the busy loop. */
const MIN_CAUSE_WEIGHT = 0.6;
/** The same minimum for a cause that has an experiment of its own which does not support it. */
const MIN_UNTESTED_CAUSE_WEIGHT = 0.8;
/** Minimum share of a busy loop's time at which what takes it is its cause. */
const MIN_DOMINANT_SHARE = 0.4;
/** Minimum weight at which a severe limit precedes one that an experiment supports: a few errors do not. */
const MIN_SEVERE_WEIGHT = 0.7;

/**
 * Decides the verdict from the hypotheses and the experiments. `confirmed`: this limit predicted a change, an
 * experiment measured it, none contradicts the limit, and each rival is contradicted by one. `likely`: the signature
 * was observed and nothing contradicts it. `no-limit`: the service sustains the rate. Otherwise `cannot-tell`.
 *
 * @param noise the smallest relative change that differs from noise, see `estimateNoiseFloor`
 */
export function decideVerdict(
  metrics: Metrics,
  hypotheses: Hypothesis[],
  experiments: ExperimentResult[],
  noise: number,
): Finding {
  const assessed = hypotheses.map((hypothesis) => {
    // A limit is excluded with the broader one that it causes. Where it makes its own prediction, only that one counts.
    const wider = hypotheses.filter(({ limit }) => limit === hypothesis.causeOf);
    const isBoundBy = (one: Hypothesis, { name }: ExperimentResult) =>
      one === hypothesis || hypothesis.predictions[name as ExperimentName] === undefined;
    const excludes = [hypothesis, ...wider].flatMap((one) => {
      const against = experiments.find(
        (experiment) => isBoundBy(one, experiment) && isContradicted(experiment, one, noise),
      );
      return against ? [describeContradiction(against, one)] : [];
    });
    return { hypothesis, excludes };
  });
  const excluded = assessed.flatMap(({ hypothesis: { limit }, excludes: [why] }) =>
    why === undefined ? [] : [{ limit, why }],
  );
  const isSupported = (hypothesis: Hypothesis) =>
    experiments.some((experiment) => isSupportedBy(experiment, hypothesis, noise));
  const rank = (hypothesis: Hypothesis) =>
    isFatal(hypothesis) ? 3 : isSevere(hypothesis) ? 2 : isSupported(hypothesis) ? 1 : 0;
  const left = assessed
    .filter(
      ({ excludes, hypothesis }) =>
        excludes.length === 0 && hypothesis.weight >= MIN_VERDICT_WEIGHT,
    )
    .map(({ hypothesis }) => hypothesis)
    .sort((a, b) => rank(b) - rank(a) || b.weight - a.weight);

  const eligible = isKeepingUp(metrics)
    ? left.filter(({ limit }) => LIMITS_AT_SUSTAINED_RATE.has(limit))
    : left;
  const [first] = eligible;
  if (!first) {
    const status = isKeepingUp(metrics) ? 'no-limit' : 'cannot-tell';
    return { status, chosen: null, also: status === 'no-limit' ? [] : left, excluded };
  }
  const chosen = findCause(first, eligible, experiments, noise);
  const others = eligible.filter((hypothesis) => hypothesis !== chosen);
  const rivals = others.filter((hypothesis) => !isSameCause(hypothesis, chosen));
  const status = isSupported(chosen) && rivals.length === 0 ? 'confirmed' : 'likely';
  return { status, chosen, also: others.slice(0, 3), excluded };
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
    if (made.some((experiment) => isSupportedBy(experiment, hypothesis, noise))) return true;
    // A cause whose experiment clearly fell short of its prediction is at most a part of the cost.
    const isOpen = made.every(
      ({ name, measured }) => measured.high >= computeGeometricMean(own.get(name)),
    );
    return isOpen && (own.size === 0 || hypothesis.weight >= MIN_UNTESTED_CAUSE_WEIGHT);
  });
  return causes[0] ?? busy;
}

/** Lists the changes that a cause of a busy loop predicts for experiments of its own. */
function listOwnPredictions({ predictions }: Hypothesis): Map<string, Range> {
  const changes = Object.entries(predictions).filter(
    ([name, { low, high }]) => !BUSY_LOOP_EXPERIMENTS.has(name) && (low > 1 || high < 1),
  );
  return new Map(changes);
}

function computeGeometricMean(range: Range | undefined): number {
  return range ? Math.sqrt(range.low * range.high) : 0;
}

/** Whether one limit causes the other, or both cause the same broader one. */
export function isSameCause(a: Hypothesis, b: Hypothesis): boolean {
  return (
    a.causeOf === b.limit ||
    b.causeOf === a.limit ||
    (a.causeOf !== undefined && a.causeOf === b.causeOf)
  );
}

/** Finds what a hypothesis predicts for an experiment; `null` if nothing. */
export function findPrediction(hypothesis: Hypothesis, experiment: string): Range | null {
  const listed = hypothesis.predictions[experiment as ExperimentName];
  if (listed) return listed;
  if (WITHOUT_DEFAULT_PREDICTION.has(experiment)) return null;
  return hypothesis.unlisted === 'unchanged' ? UNCHANGED : null;
}

/** Experiments that change more than one thing or do not compare throughput: hypotheses predict nothing by default. */
const WITHOUT_DEFAULT_PREDICTION = new Set([
  'dependency, connections x2',
  'pool wait, connections x2',
  'memory after rest',
  'fresh start',
  'unknown path',
  'client deadline',
  'shorter pause',
]);

function isContradicted(
  experiment: ExperimentResult,
  hypothesis: Hypothesis,
  noise: number,
): boolean {
  const predicted = findPrediction(hypothesis, experiment.name);
  return predicted !== null && !hasOverlap(experiment.measured, predicted, noise);
}

/** Whether the hypothesis predicted a change, and the experiment measured it. */
function isSupportedBy(
  experiment: ExperimentResult,
  hypothesis: Hypothesis,
  noise: number,
): boolean {
  const { name, measured, otherwise } = experiment;
  const predicted = hypothesis.predictions[name as ExperimentName];
  // A busy loop is no evidence of what keeps it busy.
  if (!predicted || (hypothesis.causeOf === 'event-loop-cpu' && BUSY_LOOP_EXPERIMENTS.has(name)))
    return false;
  const active = predicted.low > otherwise + noise || predicted.high < otherwise - noise;
  // Drift affects both blocks of a pair: the interval includes most of the noise already.
  const minChange = Math.min(noise, MIN_CHANGE);
  const moved = measured.low > otherwise + minChange || measured.high < otherwise - minChange;
  return active && moved && hasOverlap(measured, predicted, noise);
}

/** Minimum change that supports a hypothesis. */
const MIN_CHANGE = 0.05;

/** Experiments that every cause of a busy loop predicts alike, see `predictBusyLoop`. */
const BUSY_LOOP_EXPERIMENTS = new Set([
  'connections x2',
  'connections /2',
  'cpu injection',
  'second process',
  'calls delayed',
]);

/** Whether the measured interval, widened by the noise, overlaps the predicted one. */
export function hasOverlap(measured: Range, predicted: Range, noise: number): boolean {
  return (
    measured.high * (1 + noise) >= predicted.low && measured.low / (1 + noise) <= predicted.high
  );
}

function describeContradiction(
  { name, measured }: ExperimentResult,
  hypothesis: Hypothesis,
): string {
  const predicted = findPrediction(hypothesis, name) ?? UNCHANGED;
  return `${name}: it predicts ${factor(predicted)}, measured ${measuredRatio(measured)}`;
}

/** Limits that precede all others: throughput is not comparable until they are fixed. */
const SEVERE_LIMITS = new Set<LimitId>([
  'errors',
  'fd-limit',
  'listen-backlog',
  'cpu-quota',
  'noisy-machine',
  'shared-cores',
]);

/** Whether a process ended because of the limit, which errors follow from. */
function isFatal({ limit, weight }: Hypothesis): boolean {
  return limit === 'memory-growth' && weight >= 1;
}

/** Whether a severe limit precedes the others. */
function isSevere({ limit, weight }: Hypothesis): boolean {
  return SEVERE_LIMITS.has(limit) && weight >= MIN_SEVERE_WEIGHT;
}

/** Limits that matter even if the service sustains the rate. */
const LIMITS_AT_SUSTAINED_RATE = new Set<LimitId>([
  'errors',
  'event-loop-blocked',
  'nagle-delayed-ack',
  'memory-growth',
  'degrades-over-time',
  'listen-backlog',
  'fd-limit',
  'generator-saturated',
  'slow-dependency',
]);

/** Whether the service answers an open load at its rate, so that no queue grows. */
export function isKeepingUp({ model, base }: Metrics): boolean {
  return model === 'open' && sustainsRate(base);
}
