import type { NativeBound, NativeFlows, NativeSnapshot } from '../../native/addon.js';
import type { PlanSummary } from '../result.js';
import type { Condition } from './condition.js';
import type { IterationProgress } from './measure.js';
import { countRequestsOfIteration } from './requests-of-iteration.js';
import { countArrivals } from './schedule.js';

/** Builds the bounds for the engine, one for each condition: it counts the samples above each during the run. */
export function readBounds(conditions: readonly Condition[]): NativeBound[] {
  return conditions.map(({ topic, boundMs, ofServiceTime }) => ({
    serviceTime: ofServiceTime,
    ms: topic === 'requests' ? (boundMs ?? 0) : 0,
  }));
}

type RunLength = Pick<
  PlanSummary,
  'model' | 'requests' | 'durationMs' | 'rate' | 'stages' | 'arrivals'
>;
type RequestMix = Pick<PlanSummary, 'targets' | 'order' | 'threads'>;

/** Standard deviations beyond which nothing random lies. */
const SURE = 6;

/** Maximum speed of the rest of a closed run, relative to its fastest second. */
const MAX_SPEED_UP = 2;

/** Time from the start until the fastest second of a run is known. */
const FIRST_SECOND_MS = 1000;

/** Length of a window of the engine's series. */
const WINDOW_MS = 100;

/** Longer than any run: over thirty years. */
const MAX_RUN_MS = 1e12;

type NamedNumbers = Pick<
  NativeSnapshot,
  'sent' | 'connectFailed' | 'errors' | 'timeouts' | 'above'
>;

/** Watches a run for conditions that can no longer hold. */
export class AbortWatch {
  readonly #conditions: readonly Condition[];
  readonly #plan: RunLength & RequestMix;
  readonly #names: readonly string[];
  /** Requests of an iteration, at most; `null` without scenarios. */
  readonly #requestsOfIteration: number | null;
  #fastest = 0;

  /** `names` are those of the plan's requests, `flows` what its users do. */
  constructor(
    conditions: readonly Condition[],
    plan: RunLength & RequestMix,
    names: readonly string[],
    flows?: NativeFlows,
  ) {
    this.#conditions = conditions;
    this.#plan = plan;
    this.#names = names;
    this.#requestsOfIteration = flows === undefined ? null : countRequestsOfIteration(flows);
  }

  /** Finds a condition that can no longer hold, and returns its text; `null` if there is none. */
  findViolated(snapshot: NativeSnapshot): string | null {
    if (snapshot.phase !== 'measure') return null;
    this.#fastest = Math.max(this.#fastest, snapshot.throughput);
    const rest = Math.max(0, this.#countRemaining(snapshot));
    const shortestMs = this.#findShortestLength(snapshot);
    const iterations = this.#readIterations(snapshot);
    const violated = this.#conditions.find(({ name, isViolated }, index) => {
      const numbers = name === null ? snapshot : this.#selectNumbers(snapshot, name);
      const own = name === null ? rest : this.#limitToName(rest, name);
      const above = numbers.above[index] ?? 0;
      return isViolated({ ...numbers, above, rest: own, shortestMs, ...iterations });
    });
    return violated?.text ?? null;
  }

  /** Reads the iterations so far, if the run has scenarios. */
  #readIterations(snapshot: NativeSnapshot): { iterations?: IterationProgress } {
    const { iterations } = snapshot;
    if (iterations === undefined) return {};
    const { started, failed, notStarted } = iterations;
    const rest = Math.max(0, this.#countArrivalsToCome(snapshot));
    return { iterations: { started, failed, notStarted, rest } };
  }

  /** Estimates how many of the requests to come may have a name, at most. */
  #limitToName(rest: number, name: string): number {
    const { targets, order, threads } = this.#plan;
    // How often an iteration sends a request depends on its scenario and on conditions.
    if (this.#requestsOfIteration !== null) return rest;
    // Connections to several servers each take the targets of theirs, as fast as these answer.
    if (new Set(targets.map(({ url }) => readOrigin(url))).size > 1) return rest;
    const weigh = (list: readonly { weight: number | null }[]) =>
      list.reduce((sum, { weight }) => sum + (weight ?? 1), 0);
    const part = weigh(targets.filter((target) => target.name === name)) / weigh(targets);
    const mean = rest * part;
    // Each thread has a turn of its own, and one that is begun.
    const spread =
      order === 'in-turn' ? threads * targets.length : 1 + SURE * Math.sqrt(mean * (1 - part));
    // Without an end the mean is infinite, or no number.
    return Number.isFinite(rest) ? Math.min(rest, mean + spread) : rest;
  }

  /** Selects the numbers of the requests with one name. */
  #selectNumbers({ names }: NativeSnapshot, name: string): NamedNumbers {
    const counts = names[this.#names.indexOf(name)];
    if (!counts) return { sent: 0, connectFailed: 0, errors: 0, timeouts: 0, above: [] };
    const { sent, statusErrors, transportErrors, timeouts, above, notSent } = counts;
    const errors = statusErrors + transportErrors + timeouts;
    return { sent, connectFailed: notSent.connectFailed, errors, timeouts, above };
  }

  /** Finds the shortest length that the run may have: the number of requests may end it before its planned duration. */
  #findShortestLength({ sent, connectFailed, elapsedMs, inFlight }: NativeSnapshot): number {
    const { model, requests, durationMs } = this.#plan;
    const planned = durationMs ?? Number.POSITIVE_INFINITY;
    if (requests === null) return planned;
    // The newest window of the series may be incomplete.
    const minLastedMs = Math.max(0, elapsedMs - WINDOW_MS);
    if (model === 'open') return Math.min(planned, Math.max(minLastedMs, this.#findEarliestEnd()));
    if (this.#requestsOfIteration !== null) return Math.min(planned, minLastedMs);
    const unsent = Math.max(0, requests - sent - connectFailed - inFlight);
    if (elapsedMs < FIRST_SECOND_MS || unsent === 0) return Math.min(planned, minLastedMs);
    const perMs = (MAX_SPEED_UP * this.#fastest) / 1000;
    return Math.min(planned, minLastedMs + unsent / perMs);
  }

  /** Finds the earliest time at which the last of the planned arrivals may be due; infinite if it is never due. */
  #findEarliestEnd(): number {
    const { requests, durationMs } = this.#plan;
    let [early, late] = [0, durationMs ?? MAX_RUN_MS];
    if (requests === null || this.#countArrivals(late) < requests) return Number.POSITIVE_INFINITY;
    while (late - early > 1) {
      const middle = (early + late) / 2;
      if (this.#countArrivals(middle) < requests) early = middle;
      else late = middle;
    }
    return early;
  }

  /** Estimates the maximum number of requests that may still be sent. */
  #countRemaining(snapshot: NativeSnapshot): number {
    const toCome = this.#countArrivalsToCome(snapshot);
    if (this.#requestsOfIteration === null) return toCome;
    const { started = 0, completed = 0, failed = 0 } = snapshot.iterations ?? {};
    return (toCome + started - completed - failed) * this.#requestsOfIteration;
  }

  /** Estimates the maximum number of arrivals to come: of iterations, or of requests where there are none. */
  #countArrivalsToCome(snapshot: NativeSnapshot): number {
    const { sent, connectFailed, elapsedMs, inFlight, iterations } = snapshot;
    const { model, requests, durationMs } = this.#plan;
    const due = iterations ? iterations.started + iterations.notStarted : sent + connectFailed;
    const byNumber = requests === null ? Number.POSITIVE_INFINITY : requests - due;
    if (durationMs === null) return byNumber;
    if (model === 'open') return Math.min(byNumber, this.#countArrivals(durationMs) - due);
    if (elapsedMs < FIRST_SECOND_MS) return byNumber;
    // An iteration has a request as a rule: there are no more iterations than requests.
    const perMs = (MAX_SPEED_UP * this.#fastest) / 1000;
    return Math.min(byNumber, inFlight + perMs * (durationMs - elapsedMs));
  }

  /** Computes the maximum number of arrivals within a time; for a random schedule the mean plus six standard deviations. */
  #countArrivals(durationMs: number): number {
    const mean = countArrivals(this.#plan, durationMs);
    return mean + 1 + (this.#plan.arrivals === 'poisson' ? SURE * Math.sqrt(mean) : 0);
  }
}

/** The part of a URL before the path; the URL itself where it has none. */
function readOrigin(url: string): string {
  return /^(?:[a-z]+:\/\/[^/?#]*|unix:[^:]*)/i.exec(url)?.[0] ?? url;
}
