/**
 * A distribution of times in milliseconds; `null` where there is no sample. All figures but `min` and `max` are
 * product-limit (Kaplan-Meier) estimates of the times themselves.
 */
export interface Distribution {
  /** Samples in all, the censored ones included. */
  count: number;
  /**
   * Samples of requests that timed out, failed, were in flight at the end, or (in `latencyMs`) still waited for a
   * connection at the end. Only their age is known; the true time is at least that.
   */
  censored: number;
  /**
   * Figures that are lower bounds, because censored samples are older than all completed ones. `mean` and `stdev` are
   * restricted then: a time longer than `max` counts as `max`.
   */
  atLeast: { [statistic in Statistic]?: true };
  /** Percentiles with fewer than ten samples above them: they are subject to chance. */
  imprecise: { [statistic in Statistic]?: true };
  /** The shortest uncensored sample. */
  min: number | null;
  mean: number | null;
  stdev: number | null;
  p50: number | null;
  p75: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  p99_9: number | null;
  p99_99: number | null;
  /** The longest sample, censored or not. */
  max: number | null;
}

/** The name of a figure of a distribution, but for `min`. */
export type Statistic =
  | 'mean'
  | 'stdev'
  | 'p50'
  | 'p75'
  | 'p90'
  | 'p95'
  | 'p99'
  | 'p99_9'
  | 'p99_99'
  | 'max';
