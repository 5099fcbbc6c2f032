import type { CapacityLevel, RateTrial } from '../../capacity/result.js';
import { count, share, time } from '../../format/units.js';

/** What a condition is about, without its bound: `p99<50ms` is about `p99`. */
export function extractMetric(condition = ''): string {
  return condition.split(/[<>]/)[0]?.trim() ?? '';
}

/** What was measured for a condition: a time, or of errors and timeouts a number or share. */
export function formatMeasured(value: number | null, condition = ''): string {
  if (value === null || !/^(errors|timeouts)/.test(condition)) return time(value);
  return condition.endsWith('%') ? share(value) : count(value);
}

/** What makes a level doubtful; often nothing. */
export function describeDoubt({ clientBound, errorShare }: CapacityLevel): string {
  if (errorShare > 0) return `${share(errorShare)} failed`;
  return clientBound ? 'CLIENT-BOUND' : '';
}

/** Whether the objective held in a trial, beside the values that were measured. */
export function describeOutcome({ held, failures, clientBound }: RateTrial): string {
  if (held) return 'held';
  // Values that stand beside it need no words.
  const why = failures.map((failure) =>
    /: it is (?!at least)/.test(failure) ? 'did not hold' : failure,
  );
  return `${clientBound ? 'CLIENT-BOUND: ' : ''}${why.join(', ')}`;
}
