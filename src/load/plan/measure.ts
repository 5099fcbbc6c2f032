import type { LoadResult } from '../result.js';

/** What a condition is about: requests, iterations of scenarios, their checks, or metrics of their own. */
export type ConditionTopic = 'requests' | 'iterations' | 'checks' | 'metrics';

/** What a result says of a metric. */
export interface Reading {
  /** `null` without a sample. */
  value: number | null;
  /** The value is a lower bound. */
  isAtLeast?: boolean;
  /** No response came. */
  isUnanswered?: boolean;
}

/** A metric of a result and the bound that it is compared with. */
export interface Measure {
  topic: ConditionTopic;
  /** Reads the metric, of all or of what has the name. */
  read(result: LoadResult, name: string | null): Reading;
  format(value: number): string;
  bound: number;
  quantile?: number | null;
  boundMs?: number;
  ofServiceTime?: boolean;
  /** Which bounds are accepted; absent: a maximum only. */
  accepts?: 'minimum' | 'both';
  /** Whether the comparison can still hold at the end; absent if this is known only at the end. */
  canHold?(progress: Progress, comparison: string): boolean;
}

/** The progress of a run that conditions are checked against. */
export interface Progress {
  sent: number;
  /** Requests that were due and had no connection, as it could not be opened. */
  connectFailed: number;
  /** Status errors, transport errors and timeouts. */
  errors: number;
  timeouts: number;
  /** Samples above the condition's time bound. */
  above: number;
  /** Maximum number of requests that may still be sent. */
  rest: number;
  /** The shortest length that the run may have. */
  shortestMs: number;
  /** Iterations of scenarios so far; absent without scenarios. */
  iterations?: IterationProgress;
}

/** Iterations of a run in progress. */
export interface IterationProgress {
  started: number;
  failed: number;
  notStarted: number;
  /** Maximum number of iterations that may still become due. */
  rest: number;
}

/** Tolerance for rounding errors of shares such as 1 - 0.9, in samples. */
export const ROUNDING = 1e-3;

export const POINTS = [
  'min',
  'mean',
  'stdev',
  'p50',
  'p75',
  'p90',
  'p95',
  'p99',
  'p99_9',
  'p99_99',
  'max',
] as const;

/** Finds the figure of a distribution that a metric names: `p99_9` of `p99.9`. */
export function findPoint(metric: string): (typeof POINTS)[number] | undefined {
  return POINTS.find((point) => point === metric.replace('.', '_'));
}

/** Reads the quantile of a percentile's name: 0.999 of `p99_9`. */
export function readQuantile(point: string): number | null {
  const [, digits] = /^p([\d_]+)$/.exec(point) ?? [];
  return digits === undefined ? null : Number(digits.replace('_', '.')) / 100;
}

/** Reads a bound that is a number (`10`) or a share (`1%`); `null` if it is neither. */
export function readNumberOrShare(bound: string): { value: number; isShare: boolean } | null {
  const [, digits, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(bound) ?? [];
  if (digits === undefined) return null;
  const isShare = percent === '%';
  return { value: isShare ? Number(digits) / 100 : Number(digits), isShare };
}

export function compare(value: number, comparison: string, bound: number): boolean {
  switch (comparison) {
    case '<':
      return value < bound;
    case '<=':
      return value <= bound;
    case '>':
      return value > bound;
    default:
      return value >= bound;
  }
}
