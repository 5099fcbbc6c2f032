import type { NativeBound, NativeSnapshot } from '../../native.js';
import type { LoadOptions } from '../options.js';
import type { PlanSummary } from '../result.js';
import { type Condition, parseCondition } from './condition.js';
import { countArrivals } from './schedule.js';

/** The conditions that end a run as soon as one of them cannot hold any more. */
export function readAbortOnFail({ abortOnFail = [] }: Pick<LoadOptions, 'abortOnFail'>) {
  return [abortOnFail].flat().map((text) => parseCondition(text, 'abortOnFail'));
}

/** The bounds that the engine counts samples against during the run, one for each condition. */
export function readBounds(conditions: readonly Condition[]): NativeBound[] {
  return conditions.map(({ boundMs, ofServiceTime }) => ({
    serviceTime: ofServiceTime,
    ms: boundMs ?? 0,
  }));
}

type RunLength = Pick<
  PlanSummary,
  'model' | 'requests' | 'durationMs' | 'rate' | 'stages' | 'arrivals'
>;

/** Maximum speed of the rest of a closed run, relative to its fastest second. */
const MAX_SPEED_UP = 2;

/** Time before the fastest second of a run is known. */
const FIRST_SECOND_MS = 1000;

/** Length of a window of the engine's series. */
const WINDOW_MS = 100;

/** Longer than any run: over thirty years. */
const MAX_RUN_MS = 1e12;

/** Watches a run for conditions that can no longer hold. */
export class AbortWatch {
  readonly #conditions: readonly Condition[];
  readonly #plan: RunLength;
  #fastest = 0;

  constructor(conditions: readonly Condition[], plan: RunLength) {
    this.#conditions = conditions;
    this.#plan = plan;
  }

  /** Finds a condition that can no longer hold, and returns its text; `null` if there is none. */
  findLost(snapshot: NativeSnapshot): string | null {
    if (snapshot.phase !== 'measure') return null;
    this.#fastest = Math.max(this.#fastest, snapshot.throughput);
    const rest = Math.max(0, this.#countRemaining(snapshot));
    const shortestMs = this.#findShortestLength(snapshot);
    const lost = this.#conditions.find(({ isLost }, index) =>
      isLost({ ...snapshot, above: snapshot.above[index] ?? 0, rest, shortestMs }),
    );
    return lost?.text ?? null;
  }

  /** The shortest length that the run may come to: a number of requests may end it before its planned duration. */
  #findShortestLength({ sent, connectFailed, elapsedMs, inFlight }: NativeSnapshot): number {
    const { model, requests, durationMs } = this.#plan;
    const planned = durationMs ?? Number.POSITIVE_INFINITY;
    if (requests === null) return planned;
    // The newest window of the series may be a part of one.
    const lasted = Math.max(0, elapsedMs - WINDOW_MS);
    if (model === 'open') return Math.min(planned, Math.max(lasted, this.#findEarliestEnd()));
    const unsent = Math.max(0, requests - sent - connectFailed - inFlight);
    if (elapsedMs < FIRST_SECOND_MS || unsent === 0) return Math.min(planned, lasted);
    const perMs = (MAX_SPEED_UP * this.#fastest) / 1000;
    return Math.min(planned, lasted + unsent / perMs);
  }

  /** When the last of a number of arrivals may be due at the earliest; infinite if it is due at no time. */
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

  /** Estimates the maximum number of requests that are still to come. */
  #countRemaining({ sent, connectFailed, elapsedMs, inFlight }: NativeSnapshot): number {
    const { model, requests, durationMs } = this.#plan;
    const due = sent + connectFailed;
    const byNumber = requests === null ? Number.POSITIVE_INFINITY : requests - due;
    if (durationMs === null) return byNumber;
    if (model === 'open') return Math.min(byNumber, this.#countArrivals(durationMs) - due);
    if (elapsedMs < FIRST_SECOND_MS) return byNumber;
    const perMs = (MAX_SPEED_UP * this.#fastest) / 1000;
    return Math.min(byNumber, inFlight + perMs * (durationMs - elapsedMs));
  }

  /** Computes the maximum number of arrivals within a time; of a random schedule with six standard deviations. */
  #countArrivals(durationMs: number): number {
    const mean = countArrivals(this.#plan, durationMs);
    return mean + 1 + (this.#plan.arrivals === 'poisson' ? 6 * Math.sqrt(mean) : 0);
  }
}
