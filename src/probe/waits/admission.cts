import { now, random } from '../runtime/clock.cjs';

/** Time in ms that may be spent at once at the beginning. */
const FIRST_SPENT_MS = 2;
/** Prior estimate of the cost of a request in ms, and its weight as a number of requests. */
const [ASSUMED_COST_MS, ASSUMED_REQUESTS] = [0.05, 10];
/** Maximum ratio of the spent time to the planned time at which requests are still admitted. */
const MAX_EXCESS = 2;
/** Minimum probability: a request that is admitted stands for a thousand at most. */
const MIN_PROBABILITY = 0.001;

/**
 * Chooses at random which requests are tracked, so that what is spent on them stays about a share of the time.
 *
 * The first request after some time, whenever that can be afforded, would not be a fair sample: those that arrive
 * together do so in the same order each time. So each arrival has a probability, which changes slowly, and a request that
 * is admitted stands for as many as its inverse (Horvitz and Thompson, 1952).
 */
export class Admission {
  /** Share of the time that may be spent. */
  share: number;
  #spentMs = 0;
  #arrived = 0;
  #admitted = 0;
  readonly #startedAt = now();

  constructor(share: number) {
    this.share = share;
  }

  /** Adds what was spent on a request. */
  spend(ms: number): void {
    this.#spentMs += ms;
  }

  /** Decides about a request that arrives: the number of requests that it stands for, or 0 if it is not admitted. */
  decide(): number {
    this.#arrived++;
    const plannedMs = FIRST_SPENT_MS + this.share * (now() - this.#startedAt);
    if (this.#spentMs > MAX_EXCESS * plannedMs) return 0;
    const costMs =
      (this.#spentMs + ASSUMED_REQUESTS * ASSUMED_COST_MS) / (this.#admitted + ASSUMED_REQUESTS);
    const affordable = plannedMs / (this.#arrived * costMs);
    const probability = Math.min(1, Math.max(MIN_PROBABILITY, affordable));
    if (random() >= probability) return 0;
    this.#admitted++;
    return 1 / probability;
  }
}
