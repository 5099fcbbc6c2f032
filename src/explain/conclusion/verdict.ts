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
const CREDIBLE = 0.45;
/** Least weight at which the cause of a busy loop is named before the busy loop itself. */
const CAUSE = 0.6;
/** The same, where an experiment of its own would tell and was not made. */
const UNTRIED = 0.8;
/** Part of a busy loop's time from which on what takes it is the cause. */
const MOST_OF_TIME = 0.4;
/** Least weight of a grave limit that comes before what an experiment has shown: a few errors are none. */
const GRAVE_FROM = 0.7;

/**
 * The verdict on the suspects after the experiments. `confirmed`: an experiment in which this limit predicted a change
 * came out within its prediction, none contradicts it, and every rival is contradicted by one. `likely`: the signature
 * is there and nothing contradicts it. Otherwise it cannot be told.
 *
 * @param noise the smallest ratio that is told from none, see `noiseFloor`
 */
export function decide(
  facts: Metrics,
  suspects: Hypothesis[],
  experiments: ExperimentResult[],
  noise: number,
): Finding {
  const judged = suspects.map((suspect) => {
    // Where the wider limit is none, this is not its cause: but by what it says itself, it is held to its own word.
    const wider = suspects.filter(({ limit }) => limit === suspect.within);
    const isHeldTo = (one: Hypothesis, { name }: ExperimentResult) =>
      one === suspect || suspect.predictions[name as ExperimentName] === undefined;
    const excludes = [suspect, ...wider].flatMap((one) => {
      const against = experiments.find(
        (experiment) => isHeldTo(one, experiment) && contradicts(experiment, one, noise),
      );
      return against ? [contradiction(against, one)] : [];
    });
    return { suspect, excludes };
  });
  const excluded = judged.flatMap(({ suspect: { limit }, excludes: [why] }) =>
    why === undefined ? [] : [{ limit, why }],
  );
  const isShown = (suspect: Hypothesis) =>
    experiments.some((experiment) => shows(experiment, suspect, noise));
  const rank = (suspect: Hypothesis) =>
    isEnd(suspect) ? 3 : isGrave(suspect) ? 2 : isShown(suspect) ? 1 : 0;
  const left = judged
    .filter(({ excludes, suspect }) => excludes.length === 0 && suspect.weight >= CREDIBLE)
    .map(({ suspect }) => suspect)
    .sort((a, b) => rank(b) - rank(a) || b.weight - a.weight);

  const eligible = keepsUp(facts)
    ? left.filter(({ limit }) => DESPITE_KEEPING_UP.has(limit))
    : left;
  const [first] = eligible;
  if (!first) {
    const status = keepsUp(facts) ? 'no-limit' : 'cannot-tell';
    return { status, chosen: null, also: status === 'no-limit' ? [] : left, excluded };
  }
  const chosen = causeOf(first, eligible, experiments, noise);
  const others = eligible.filter((suspect) => suspect !== chosen);
  const rivals = others.filter((suspect) => !isSameCause(suspect, chosen));
  const status = isShown(chosen) && rivals.length === 0 ? 'confirmed' : 'likely';
  return { status, chosen, also: others.slice(0, 3), excluded };
}

/** A busy loop is a finding, what keeps it busy a better one. */
function causeOf(
  first: Hypothesis,
  suspects: Hypothesis[],
  experiments: ExperimentResult[],
  noise: number,
): Hypothesis {
  const busy =
    first.within === undefined ? first : suspects.find(({ limit }) => limit === first.within);
  if (!busy) return first;
  const causes = suspects.filter((suspect) => {
    if (suspect.within !== busy.limit || suspect.weight < CAUSE) return false;
    // A setting that does not help says nothing of what most of the time was seen to go to.
    if ((suspect.part ?? 0) >= MOST_OF_TIME) return true;
    const own = ownPredictions(suspect);
    const made = experiments.filter(({ name }) => own.has(name));
    if (made.some((experiment) => shows(experiment, suspect, noise))) return true;
    // One whose own experiment showed nothing is at most a part, and one that was not told by it may be.
    const isOpen = made.every(({ name, measured }) => measured.high >= middle(own.get(name)));
    return isOpen && (own.size === 0 || suspect.weight >= UNTRIED);
  });
  return causes[0] ?? busy;
}

/** The changes that a cause of a busy loop predicts of experiments of its own. */
function ownPredictions({ predictions }: Hypothesis): Map<string, Range> {
  const changes = Object.entries(predictions).filter(
    ([name, { low, high }]) => !OF_BUSY_LOOPS.has(name) && (low > 1 || high < 1),
  );
  return new Map(changes);
}

function middle(range: Range | undefined): number {
  return range ? Math.sqrt(range.low * range.high) : 0;
}

/** The one is the cause of the other, or both are causes of the same. */
export function isSameCause(a: Hypothesis, b: Hypothesis): boolean {
  return (
    a.within === b.limit ||
    b.within === a.limit ||
    (a.within !== undefined && a.within === b.within)
  );
}

/** What a suspect predicts of an experiment; `null`: nothing. */
export function predictionOf(suspect: Hypothesis, experiment: string): Range | null {
  const said = suspect.predictions[experiment as ExperimentName];
  if (said) return said;
  if (WITHOUT_DEFAULT.has(experiment)) return null;
  return suspect.otherwise === 'unchanged' ? UNCHANGED : null;
}

/** They change more than one thing, or are no throughput: who says nothing about them predicts nothing. */
const WITHOUT_DEFAULT = new Set([
  'dependency, connections x2',
  'pool wait, connections x2',
  'memory after rest',
  'fresh start',
  'unknown path',
  'client deadline',
  'shorter pause',
]);

function contradicts(experiment: ExperimentResult, suspect: Hypothesis, noise: number): boolean {
  const predicted = predictionOf(suspect, experiment.name);
  return predicted !== null && !overlaps(experiment.measured, predicted, noise);
}

/** Whether it predicted a change, and that change was measured. */
function shows(experiment: ExperimentResult, suspect: Hypothesis, noise: number): boolean {
  const { name, measured, otherwise } = experiment;
  const predicted = suspect.predictions[name as ExperimentName];
  // That the loop is busy shows nothing of what keeps it busy.
  if (!predicted || (suspect.within === 'event-loop-cpu' && OF_BUSY_LOOPS.has(name))) return false;
  const active = predicted.low > otherwise + noise || predicted.high < otherwise - noise;
  // What drifts falls on both of a pair: the interval has most of the noise already.
  const least = Math.min(noise, LEAST_MOVE);
  const moved = measured.low > otherwise + least || measured.high < otherwise - least;
  return active && moved && overlaps(measured, predicted, noise);
}

/** A smaller change shows nothing. */
const LEAST_MOVE = 0.05;

/** What every busy loop predicts alike, see `busyLoop`. */
const OF_BUSY_LOOPS = new Set([
  'connections x2',
  'connections /2',
  'cpu injection',
  'second process',
  'calls delayed',
]);

/** Whether the intervals meet, the measured one widened by the noise. */
export function overlaps(measured: Range, predicted: Range, noise: number): boolean {
  return (
    measured.high * (1 + noise) >= predicted.low && measured.low / (1 + noise) <= predicted.high
  );
}

function contradiction({ name, measured }: ExperimentResult, suspect: Hypothesis): string {
  const said = predictionOf(suspect, name) ?? UNCHANGED;
  return `${name}: it would give ${factor(said)}, measured ${measuredRatio(measured)}`;
}

/** Seen as such, and before everything else: no throughput is worth comparing before they are mended. */
const GRAVE = new Set<LimitId>([
  'errors',
  'fd-limit',
  'listen-backlog',
  'cpu-quota',
  'noisy-machine',
  'shared-cores',
]);

/** A process has ended of it: errors are what comes of that. */
function isEnd({ limit, weight }: Hypothesis): boolean {
  return limit === 'memory-growth' && weight >= 1;
}

function isGrave({ limit, weight }: Hypothesis): boolean {
  return GRAVE.has(limit) && weight >= GRAVE_FROM;
}

/** The limits that matter though the service keeps up with the rate. */
const DESPITE_KEEPING_UP = new Set<LimitId>([
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
export function keepsUp({ model, base }: Metrics): boolean {
  return model === 'open' && sustainsRate(base);
}
