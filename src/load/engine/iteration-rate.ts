/** Length of the time that a rate is of. */
const WINDOW_MS = 1000;

/** The completed iterations per second of a run in progress, over its last second. */
export class IterationRate {
  /** The oldest is from before the window, where the run is longer. */
  #samples: { elapsedMs: number; completed: number }[] = [];

  /** Adds the number at a time since the start of the measurement, and returns the rate. */
  add(elapsedMs: number, completed: number): number {
    this.#samples.push({ elapsedMs, completed });
    while ((this.#samples[1]?.elapsedMs ?? elapsedMs) <= elapsedMs - WINDOW_MS) {
      this.#samples.shift();
    }
    const first = this.#samples.length > 1 ? this.#samples[0] : undefined;
    const { elapsedMs: fromMs, completed: before } = first ?? { elapsedMs: 0, completed: 0 };
    return elapsedMs > fromMs ? ((completed - before) * 1000) / (elapsedMs - fromMs) : 0;
  }
}
