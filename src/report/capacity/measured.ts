import type { CapacityLevel, CapacityTrial } from '../../capacity/result.js';
import { share, time } from '../../format/units.js';
import { parseCondition } from '../../load/plan/condition.js';

/** Extracts the metric of a condition: `p99` of `p99<50ms`. */
export function extractMetric(condition = ''): string {
  return condition.split(/[<>]/)[0]?.trim() ?? '';
}

/** Formats the measured value of a condition. */
export function formatMeasured(value: number | null, condition = 'p99<1s'): string {
  return value === null ? time(value) : parseCondition(condition, 'objective').format(value);
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
