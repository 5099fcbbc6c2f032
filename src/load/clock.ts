/**
 * Places the engine's measurement on the clock of `performance.now()`. The engine tells how long the measurement has
 * lasted; the telling is always late by some, so the earliest start that follows from it is the truest.
 */
export class MeasurementClock {
  #start = Number.POSITIVE_INFINITY;

  /** Notes that the measurement has lasted this long by now. */
  sawElapsed(elapsedMs: number): void {
    this.#start = Math.min(this.#start, performance.now() - elapsedMs);
  }

  measurement(durationMs: number): { from: number; to: number; startedAt: Date } {
    const from = this.#start;
    const startedAt = new Date(performance.timeOrigin + from);
    return { from, to: from + durationMs, startedAt };
  }
}
