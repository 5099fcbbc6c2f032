import { now } from '../outbound/clock.js';

/** Saved for later, at most; more where more may be in one second. */
const MOST = 10;

/**
 * How many calls may be tried again: a share of all, and so many a second in any case. So tries can never be what keeps
 * a service down that cannot keep up.
 */
export class RetryBudget {
  readonly #share: number;
  readonly #floor: number;
  readonly #most: number;
  #saved: number;
  #since = now();

  constructor(share: number, floor: number) {
    this.#share = share;
    // A product with infinity may be no number.
    this.#floor = Math.min(floor, Number.MAX_SAFE_INTEGER);
    this.#most = Math.max(MOST, this.#floor);
    this.#saved = this.#floor;
  }

  /** A call is made. */
  earn(): void {
    this.#save(this.#share);
  }

  /** Whether one more try may be made; if so it is counted. */
  spend(): boolean {
    const at = now();
    this.#save((this.#floor * (at - this.#since)) / 1000);
    this.#since = at;
    if (this.#saved < 1) return false;
    this.#saved -= 1;
    return true;
  }

  #save(tries: number): void {
    this.#saved = Math.min(this.#most, this.#saved + tries);
  }
}
