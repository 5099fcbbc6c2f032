import type { NativeOutcome, NativeSnapshot } from '../../native.js';

/** When the phases of a run were, on the clock of `performance.now()`. */
export interface Phases {
  /** Of the warm-up: as planned, unless the run ended in it. */
  warmupMs: number;
  /** Start and end of the measurement. */
  from: number;
  to: number;
  startedAt: Date;
}

/**
 * Places the engine's phases on the clock of `performance.now()`. The engine tells how long a phase has lasted; the
 * telling is always late by some, so the earliest start that follows from it is the truest.
 */
export class RunClock {
  readonly #begun = performance.now();
  #warmup = Number.POSITIVE_INFINITY;
  #measurement = Number.POSITIVE_INFINITY;
  #stopped: number | null = null;

  saw({ phase, elapsedMs }: Pick<NativeSnapshot, 'phase' | 'elapsedMs'>): void {
    const start = performance.now() - elapsedMs;
    if (phase === 'measure') this.#measurement = Math.min(this.#measurement, start);
    // After a stop the last window counts as a whole one.
    else if (phase === 'warmup' && this.#stopped === null) {
      this.#warmup = Math.min(this.#warmup, start);
    }
  }

  /** Notes that the engine was told to stop. */
  stopped(): void {
    this.#stopped ??= performance.now();
  }

  /** The phases of a run that has just ended. */
  phasesOf({ durationMs, setupMs, warmup }: NativeOutcome): Phases {
    this.saw({ phase: 'measure', elapsedMs: durationMs });
    const from = this.#measurement;
    const began = Number.isFinite(this.#warmup) ? this.#warmup : this.#begun + setupMs;
    const lastedMs = Math.max(0, (this.#stopped ?? performance.now()) - began);
    return {
      warmupMs: durationMs > 0 ? warmup.durationMs : Math.min(lastedMs, warmup.durationMs),
      from,
      to: from + durationMs,
      startedAt: new Date(performance.timeOrigin + from),
    };
  }
}
