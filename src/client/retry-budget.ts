import { now } from '../outbound/clock.js';

/** Maximum number of retries saved up; `minPerSecond` if that is more. */
const MAX_TOKENS = 10;

/**
 * A token bucket for retries: a ratio of all calls, and a minimum rate. It keeps retries from overloading a service
 * that cannot keep up.
 */
export class RetryBudget {
  readonly #ratio: number;
  readonly #minPerSecond: number;
  readonly #maxTokens: number;
  #tokens: number;
  #updatedAt = now();

  constructor(share: number, floor: number) {
    this.#ratio = share;
    // Infinity times 0 is not a number.
    this.#minPerSecond = Math.min(floor, Number.MAX_SAFE_INTEGER);
    this.#maxTokens = Math.max(MAX_TOKENS, this.#minPerSecond);
    this.#tokens = this.#minPerSecond;
  }

  /** Called for each call: adds `budgetRatio` tokens. */
  deposit(): void {
    this.#add(this.#ratio);
  }

  /** Takes a token for a retry; returns false if there is none. */
  tryWithdraw(): boolean {
    const at = now();
    this.#add((this.#minPerSecond * (at - this.#updatedAt)) / 1000);
    this.#updatedAt = at;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #add(tries: number): void {
    this.#tokens = Math.min(this.#maxTokens, this.#tokens + tries);
  }
}
