import { now, random } from '../runtime/clock.cjs';

/** What may be spent at once when it begins. */
const FIRST_SPENT_MS = 2;
/** What a request is taken to cost before others have ended, as if so many had. */
const [ASSUMED_COST_MS, ASSUMED_REQUESTS] = [0.05, 10];
/** How far more may be spent than planned before no request is admitted. */
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
