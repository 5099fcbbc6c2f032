/**
 * A monotonic counter with readings at times on the clock of `performance.now()`. A reading below the previous one (the
 * counter was reset) counts as no growth.
 */
export class Counter {
  readonly #atMs: number[] = [];
  /** Growth since the first reading. */
  readonly #sums: number[] = [];
  #last = 0;

  /** Adds a reading; its time must not be before the previous one. */
  add(atMs: number, value: number): void {
    const sum = this.#sums.at(-1);
    this.#atMs.push(atMs);
    this.#sums.push(sum === undefined ? 0 : sum + Math.max(0, value - this.#last));
    this.#last = value;
  }

  /** Whether the readings overlap a range of time. */
  covers(fromMs: number, toMs: number): boolean {
    const [first = Number.POSITIVE_INFINITY] = this.#atMs;
    return first < toMs && (this.#atMs.at(-1) ?? 0) > fromMs;
  }

  /**
   * Growth between two times, interpolated between readings; there is none before the first and after the last reading.
   */
  growth(fromMs: number, toMs: number): number {
    return this.#sumAt(toMs) - this.#sumAt(fromMs);
  }

  #sumAt(atMs: number): number {
    const next = findFirstAfter(this.#atMs, atMs);
    const after = this.#sums[next];
    const before = this.#sums[next - 1];
    if (before === undefined) return 0;
    if (after === undefined) return before;
    const [begin = 0, end = 0] = this.#atMs.slice(next - 1, next + 1);
    return before + ((after - before) * (atMs - begin)) / (end - begin);
  }
}

/** Index of the first of ascending times that is later; their number if there is none. */
export function findFirstAfter(times: number[], atMs: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) > atMs) high = middle;
    else low = middle + 1;
  }
  return low;
}
