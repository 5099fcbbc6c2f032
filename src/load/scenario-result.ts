import type { Distribution } from './distribution.js';

/** Iterations of scenarios: of a whole run, or of one scenario. started = completed + failed + inProgress. */
export interface IterationResult {
  /** Iterations that began. */
  started: number;
  /** All steps done, and none failed. */
  completed: number;
  /** Ended by a failed step, or went on after one. */
  failed: number;
  /** Begun, and not ended when the run ended. */
  inProgress: number;
  /** Due and never begun, as no user was free; not part of `started`. */
  notStarted: number;
  /** Completed iterations per second of the measurement. */
  rate: number;
  /** Time from when an iteration was due to its end. Failed ones, and those in progress at the end, are censored. */
  durationMs: Distribution;
  /** The same without pauses and hooks. */
  activeMs: Distribution;
  histograms: IterationHistograms;
  /** Exact sums, see `LoadResult.sums`. */
  sums: { unit: 'ns'; duration: string; active: string };
}

/** Histograms of iterations, see `LoadResult.histograms`. */
export interface IterationHistograms {
  unit: 'ns';
  duration: string;
  durationCensored: string;
  active: string;
  activeCensored: string;
}

/** The iterations of one scenario. */
export interface ScenarioResult extends IterationResult {
  name: string;
}

/** Why steps fail, in the order of their description. */
export type StepFailureReason =
  /** A status from 400 on, where no check is about the status. */
  | 'status'
  /** No connection, or no complete response. */
  | 'transport'
  /** A check failed. */
  | 'check'
  /** A value to be saved was not found. */
  | 'save'
  /** A variable of the request has no value. */
  | 'variable'
  /** The value of a header field has a line break. */
  | 'header'
  /** The body is longer than what is kept, or cannot be decoded. */
  | 'body'
  /** JavaScript threw. */
  | 'hook';

/** A step that sends a request: why it failed, what was checked and saved. Its times are those of its name in `byName`. */
export interface StepResult {
  /** The scenario that it is part of. */
  scenario: string;
  /** The name of its requests. */
  name: string;
  /** Failures by reason. */
  failures: {
    reason: StepFailureReason;
    count: number;
    /** The first one in words, secrets masked. */
    example: string;
  }[];
  /** In the order in which they are checked. */
  checks: CheckResult[];
  /** In the order of the scenario. */
  saves: SaveResult[];
}

/** How often a check passed. */
export interface CheckResult {
  /** What is checked, as in `status 201`. */
  check: string;
  passed: number;
  failed: number;
  /** What was found instead, the first time, secrets masked; `null` if it never failed. */
  example: string | null;
}

/** How often a value was found. */
export interface SaveResult {
  /** The variable that it is saved as. */
  variable: string;
  /** Where it is looked for, as in `json /token`. */
  from: string;
  /** Whether the step does not fail without it. */
  optional: boolean;
  found: number;
  missing: number;
  /** What was found instead, the first time, secrets masked; `null` if it was always found. */
  example: string | null;
}

/**
 * Values that hooks added to a metric of their own. As a counter it is its `sum`, as a trend its other figures; they have the
 * unit of the values.
 */
export interface OwnMetric {
  /** How many values. */
  count: number;
  sum: number;
  min: number;
  mean: number;
  stdev: number;
  p50: number;
  p75: number;
  p90: number;
  p95: number;
  p99: number;
  p99_9: number;
  max: number;
  /** The values to four significant digits, ascending, each with its number. The percentiles are those of these values. */
  histogram: [value: number, count: number][];
}

/** The JavaScript that a run called between its requests. */
export interface HookResult {
  /** Calls of hooks. */
  calls: number;
  /** Time in which hooks ran. They share one thread: near the length of the measurement they are the limit. */
  busyMs: number;
  /** Sum of the times that calls waited for others. */
  waitMs: number;
}

/** What a result has of scenarios. In a run without scenarios, `null` and empty lists. */
export interface ScenarioFigures {
  /** All iterations; `null` without scenarios. */
  iterations: IterationResult | null;
  /** The iterations by scenario. */
  scenarios: ScenarioResult[];
  /** The request steps, in the order of the scenarios' steps. */
  steps: StepResult[];
  /** The checks of all steps; `null` without one. */
  checks: { passed: number; failed: number } | null;
  /** Metrics of the scenarios' own, by name. */
  metrics: Record<string, OwnMetric>;
  /** `null` without hooks. */
  hooks: HookResult | null;
}
