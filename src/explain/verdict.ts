import type { Facts } from './facts.js';
import type { LimitId } from './limits.js';
import type { Observation } from './observation.js';
import type { ExperimentResult, Range, Status } from './result.js';
import { type Acquittal, type ExperimentName, type Suspect, UNCHANGED } from './suspect.js';

/** What was found, before it is put into words. */
export interface Finding {
  status: Status;
  /** The limit, or `null` where nothing limits or it cannot be told. */
  chosen: Suspect | null;
  also: Suspect[];
  /** Suspects that an experiment spoke against. */
  excluded: Acquittal[];
}

/** Least weight of a suspect that can be the verdict. */
const CREDIBLE = 0.45;
/** Least weight at which the cause of a busy loop is named before the busy loop itself. */
const CAUSE = 0.6;
/** A suspect that weighs so much less is no rival for the verdict, though it may be named beside it. */
const CLEAR = 0.2;

/**
 * The verdict on the suspects after the experiments. `confirmed`: an experiment in which this limit predicted a change
 * came out within its prediction, none contradicts it, and every rival is contradicted by one. `likely`: the signature
 * is there and nothing contradicts it. Otherwise it cannot be told.
 *
 * @param noise the smallest ratio that is told from none, see `noiseFloor`
 */
export function decide(
  facts: Facts,
  suspects: Suspect[],
  experiments: ExperimentResult[],
  noise: number,
): Finding {
  const judged = suspects.map((suspect) => ({
    suspect,
    against: experiments.find((experiment) => contradicts(experiment, suspect, noise)),
  }));
  const excluded = judged.flatMap(({ suspect: { limit }, against }) =>
    against ? [{ limit, why: contradiction(against, limit) }] : [],
  );
  const isShown = (suspect: Suspect) =>
    experiments.some((experiment) => shows(experiment, suspect, noise));
  const rank = (suspect: Suspect) => (GRAVE.has(suspect.limit) ? 2 : isShown(suspect) ? 1 : 0);
  const left = judged
    .filter(({ against, suspect }) => !against && suspect.weight >= CREDIBLE)
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
  const rivals = others.filter(
    (suspect) => !isKin(suspect, chosen) && suspect.weight > chosen.weight - CLEAR,
  );
  const status = isShown(chosen) && rivals.length === 0 ? 'confirmed' : 'likely';
  const also = others.filter(
    (suspect) => rivals.includes(suspect) || isKin(suspect, chosen) || suspect.weight >= 0.5,
  );
  return { status, chosen, also: also.slice(0, 3), excluded };
}

/** A busy loop is a finding, what keeps it busy a better one. */
function causeOf(
  first: Suspect,
  suspects: Suspect[],
  experiments: ExperimentResult[],
  noise: number,
): Suspect {
  const busy =
    first.within === undefined ? first : suspects.find(({ limit }) => limit === first.within);
  if (!busy) return first;
  const causes = suspects.filter((suspect) => {
    if (suspect.within !== busy.limit || suspect.weight < CAUSE) return false;
    const own = experiments.filter(
      ({ name }) => name in suspect.predictions && !OF_BUSY_LOOPS.has(name),
    );
    // One whose own experiment was made and showed nothing is at most a part.
    return own.length === 0 || own.some((experiment) => shows(experiment, suspect, noise));
  });
  return causes[0] ?? busy;
}

/** The one is the cause of the other, or both are causes of the same. */
function isKin(a: Suspect, b: Suspect): boolean {
  return (
    a.within === b.limit ||
    b.within === a.limit ||
    (a.within !== undefined && a.within === b.within)
  );
}

/** What a suspect predicts of an experiment; `null`: nothing. */
export function predictionOf(suspect: Suspect, experiment: string): Range | null {
  const said = suspect.predictions[experiment as ExperimentName];
  if (said) return said;
  if (DERIVED.has(experiment)) return null;
  return suspect.otherwise === 'unchanged' ? UNCHANGED : null;
}

/** Seen beside another experiment: who says nothing about them predicts nothing. */
const DERIVED = new Set([
  'dependency, connections x2',
  'pool wait, connections x2',
  'memory after rest',
  'fresh start',
]);

function contradicts(experiment: ExperimentResult, suspect: Suspect, noise: number): boolean {
  const predicted = predictionOf(suspect, experiment.name);
  return predicted !== null && !overlaps(experiment.measured, predicted, noise);
}

/** Whether it predicted a change, and that change was measured. */
function shows(experiment: ExperimentResult, suspect: Suspect, noise: number): boolean {
  const { name, measured, otherwise } = experiment;
  const predicted = suspect.predictions[name as ExperimentName];
  // That the loop is busy shows nothing of what keeps it busy.
  if (!predicted || (suspect.within === 'event-loop-cpu' && OF_BUSY_LOOPS.has(name))) return false;
  const active = predicted.low > otherwise + noise || predicted.high < otherwise - noise;
  const moved = measured.low > otherwise + noise || measured.high < otherwise - noise;
  return active && moved && overlaps(measured, predicted, noise);
}

/** What every busy loop predicts alike, see `busyLoop`. */
const OF_BUSY_LOOPS = new Set(['connections x2', 'connections /2', 'cpu injection']);

/** Whether the intervals meet, the measured one widened by the noise. */
export function overlaps(measured: Range, predicted: Range, noise: number): boolean {
  return (
    measured.high * (1 + noise) >= predicted.low && measured.low / (1 + noise) <= predicted.high
  );
}

function contradiction({ name, predicted, measured }: ExperimentResult, limit: LimitId): string {
  const said = predicted[limit] ?? UNCHANGED;
  const text = ({ low, high }: Range) =>
    low === high ? low.toFixed(2) : `${low.toFixed(2)} to ${high.toFixed(2)}`;
  return `${name}: it would give x ${text(said)}, measured x ${measured.ratio.toFixed(2)} [${measured.low.toFixed(2)}, ${measured.high.toFixed(2)}]`;
}

/** Seen as such, and before everything else: no throughput is worth comparing before they are mended. */
const GRAVE = new Set<LimitId>(['errors', 'fd-limit', 'listen-backlog', 'cpu-quota']);

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
export function keepsUp({ model, base }: Facts): boolean {
  return model === 'open' && bearsRate(base);
}

/** Whether all of an open load was sent and answered in time. */
export function bearsRate({ load }: Observation): boolean {
  const failed = load.warnings.some(({ id }) => id === 'rate-not-reached' || id === 'not-sent');
  return !failed && load.requests.sent > 0;
}
