import type { CapacityLevel, CapacityTrial } from '../../capacity/result.js';
import { count, share, time } from '../../format/units.js';

/** Extracts the metric of a condition: `p99` of `p99<50ms`. */
export function extractMetric(condition = ''): string {
  return condition.split(/[<>]/)[0]?.trim() ?? '';
}

/** Formats the measured value of a condition: a time, or a number or share of errors or timeouts. */
export function formatMeasured(value: number | null, condition = ''): string {
  if (value === null || !/^(errors|timeouts)/.test(condition)) return time(value);
  return condition.endsWith('%') ? share(value) : count(value);
}

/** Describes why a level is doubtful; empty if it is not. */
export function describeDoubt({ clientBound, errorShare }: CapacityLevel): string {
  if (errorShare > 0) return `${share(errorShare)} failed`;
  return clientBound ? 'CLIENT-BOUND' : '';
}

/** Describes the outcome of a trial, to be shown next to the measured values. */
export function describeOutcome({ held, failures, clientBound }: CapacityTrial): string {
  if (held) return 'held';
  // The values are shown in columns of their own.
  const why = failures.map((failure) =>
    /: it is (?!at least)/.test(failure) ? 'did not hold' : failure,
  );
  return `${clientBound ? 'CLIENT-BOUND: ' : ''}${why.join(', ')}`;
}
