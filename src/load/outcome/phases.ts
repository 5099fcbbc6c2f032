/** Times of a run's phases on the clock of `performance.now()`. */
export interface Phases {
  /** Length of the warm-up: as planned, unless the run ended in it. */
  warmupMs: number;
  /** Start and end of the measurement. */
  from: number;
  to: number;
  /** Start of the measurement in Unix time, with a fraction. */
  startedAtMs: number;
}
