import { factor, measuredRatio } from '../../format/ratios.js';
import type { Range } from '../../statistics/types.js';
import type { ExperimentName } from '../experiments/types.js';
import { type Hypothesis, type RuledOut, UNCHANGED } from '../hypotheses/hypothesis.js';
import type { LimitId } from '../limits/ids.js';
import { sustainsRate } from '../metrics/derive.js';
import type { Metrics } from '../metrics/types.js';
import type { ExperimentResult, Status } from '../result.js';

/** What was found, before it is put into words. */
export interface Finding {
  status: Status;
  /** The limit, or `null` where nothing limits or it cannot be told. */
  chosen: Hypothesis | null;
  also: Hypothesis[];
  /** Suspects that an experiment spoke against. */
  excluded: RuledOut[];
}

/** Least weight of a suspect that can be the verdict. */
const MIN_VERDICT_WEIGHT = 0.45;
/** Least weight at which the cause of a busy loop is named before the busy loop itself. */
const MIN_CAUSE_WEIGHT = 0.6;
/** The same, where an experiment of its own would tell and was not made. */
const MIN_UNTESTED_CAUSE_WEIGHT = 0.8;
/** Part of a busy loop's time from which on what takes it is the cause. */
const MIN_DOMINANT_SHARE = 0.4;
/** Least weight of a grave limit that comes before what an experiment has shown: a few errors are none. */
const MIN_SEVERE_WEIGHT = 0.7;

/**
 * The verdict on the suspects after the experiments. `confirmed`: an experiment in which this limit predicted a change
 * came out within its prediction, none contradicts it, and every rival is contradicted by one. `likely`: the signature
 * is there and nothing contradicts it. Otherwise it cannot be told.
 *
 * @param noise the smallest ratio that is told from none, see `noiseFloor`
 */
export function decideVerdict(
  metrics: Metrics,
  hypotheses: Hypothesis[],
  experiments: ExperimentResult[],
  noise: number,
): Finding {
  const assessed = hypotheses.map((hypothesis) => {
    // Where the wider limit is none, this is not its cause: but by what it says itself, it is held to its own word.
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

/** A busy loop is a finding, what keeps it busy a better one. */
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
    // A setting that does not help says nothing of what most of the time was seen to go to.
    if ((hypothesis.loopShare ?? 0) >= MIN_DOMINANT_SHARE) return true;
    const own = listOwnPredictions(hypothesis);
    const made = experiments.filter(({ name }) => own.has(name));
    if (made.some((experiment) => isSupportedBy(experiment, hypothesis, noise))) return true;
    // One whose own experiment showed nothing is at most a part, and one that was not told by it may be.
    const isOpen = made.every(
      ({ name, measured }) => measured.high >= computeGeometricMean(own.get(name)),
    );
    return isOpen && (own.size === 0 || hypothesis.weight >= MIN_UNTESTED_CAUSE_WEIGHT);
  });
  return causes[0] ?? busy;
}

/** The changes that a cause of a busy loop predicts of experiments of its own. */
function listOwnPredictions({ predictions }: Hypothesis): Map<string, Range> {
  const changes = Object.entries(predictions).filter(
    ([name, { low, high }]) => !BUSY_LOOP_EXPERIMENTS.has(name) && (low > 1 || high < 1),
  );
  return new Map(changes);
}

function computeGeometricMean(range: Range | undefined): number {
  return range ? Math.sqrt(range.low * range.high) : 0;
}

/** The one is the cause of the other, or both are causes of the same. */
export function isSameCause(a: Hypothesis, b: Hypothesis): boolean {
  return (
    a.causeOf === b.limit ||
    b.causeOf === a.limit ||
    (a.causeOf !== undefined && a.causeOf === b.causeOf)
  );
}

/** What a suspect predicts of an experiment; `null`: nothing. */
export function findPrediction(hypothesis: Hypothesis, experiment: string): Range | null {
  const listed = hypothesis.predictions[experiment as ExperimentName];
  if (listed) return listed;
  if (WITHOUT_DEFAULT_PREDICTION.has(experiment)) return null;
  return hypothesis.unlisted === 'unchanged' ? UNCHANGED : null;
}

/** They change more than one thing, or are no throughput: who says nothing about them predicts nothing. */
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

/** Whether it predicted a change, and that change was measured. */
function isSupportedBy(
  experiment: ExperimentResult,
  hypothesis: Hypothesis,
  noise: number,
): boolean {
  const { name, measured, otherwise } = experiment;
  const predicted = hypothesis.predictions[name as ExperimentName];
  // That the loop is busy shows nothing of what keeps it busy.
  if (!predicted || (hypothesis.causeOf === 'event-loop-cpu' && BUSY_LOOP_EXPERIMENTS.has(name)))
    return false;
  const active = predicted.low > otherwise + noise || predicted.high < otherwise - noise;
  // What drifts falls on both of a pair: the interval has most of the noise already.
  const least = Math.min(noise, MIN_CHANGE);
  const moved = measured.low > otherwise + least || measured.high < otherwise - least;
  return active && moved && hasOverlap(measured, predicted, noise);
}

/** A smaller change shows nothing. */
const MIN_CHANGE = 0.05;

/** What every busy loop predicts alike, see `busyLoop`. */
const BUSY_LOOP_EXPERIMENTS = new Set([
  'connections x2',
  'connections /2',
  'cpu injection',
  'second process',
  'calls delayed',
]);

/** Whether the intervals meet, the measured one widened by the noise. */
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
  return `${name}: it would give ${factor(predicted)}, measured ${measuredRatio(measured)}`;
}

/** Seen as such, and before everything else: no throughput is worth comparing before they are mended. */
const SEVERE_LIMITS = new Set<LimitId>([
  'errors',
  'fd-limit',
  'listen-backlog',
  'cpu-quota',
  'noisy-machine',
  'shared-cores',
]);

/** A process has ended of it: errors are what comes of that. */
function isFatal({ limit, weight }: Hypothesis): boolean {
  return limit === 'memory-growth' && weight >= 1;
}

function isSevere({ limit, weight }: Hypothesis): boolean {
  return SEVERE_LIMITS.has(limit) && weight >= MIN_SEVERE_WEIGHT;
}

/** The limits that matter though the service keeps up with the rate. */
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

/** An open load of which all is answered, and no queue grows. */
export function isKeepingUp({ model, base }: Metrics): boolean {
  return model === 'open' && sustainsRate(base);
}
