import type { NativeOutcome, NativeSnapshot } from '../../native/addon.js';
import type { Phases } from '../outcome/phases.js';

/**
 * Places the engine's phases on the clock of `performance.now()`. A snapshot says how long a phase has lasted. Snapshots
 * arrive late by different times, so the earliest start that follows from one is the most accurate.
 */
export class RunClock {
  readonly #startMs = performance.now();
  #warmupStartMs = Number.POSITIVE_INFINITY;
  #measurementStartMs = Number.POSITIVE_INFINITY;
  #stoppedMs: number | null = null;

  addSnapshot({ phase, elapsedMs }: Pick<NativeSnapshot, 'phase' | 'elapsedMs'>): void {
    const start = performance.now() - elapsedMs;
    if (phase === 'measure') this.#measurementStartMs = Math.min(this.#measurementStartMs, start);
    // After a stop the engine counts the last window as a whole one.
    else if (phase === 'warmup' && this.#stoppedMs === null) {
      this.#warmupStartMs = Math.min(this.#warmupStartMs, start);
    }
  }

  /** Records when the engine was stopped; the first call counts. */
  markStopped(): void {
    this.#stoppedMs ??= performance.now();
  }

  /** Computes the phases of a run that has just ended. */
  computePhases({ durationMs, setupMs, warmup }: NativeOutcome): Phases {
    this.addSnapshot({ phase: 'measure', elapsedMs: durationMs });
    const from = this.#measurementStartMs;
    const began = Number.isFinite(this.#warmupStartMs)
      ? this.#warmupStartMs
      : this.#startMs + setupMs;
    const lastedMs = Math.max(0, (this.#stoppedMs ?? performance.now()) - began);
    return {
      warmupMs: durationMs > 0 ? warmup.durationMs : Math.min(lastedMs, warmup.durationMs),
      from,
      to: from + durationMs,
      startedAtMs: performance.timeOrigin + from,
    };
  }
}
