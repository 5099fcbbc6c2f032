import { mean, standardDeviation } from './moments.js';
import { MIN_SCATTER } from './ratio.js';
import { studentQuantile } from './student.js';
import type { Interval } from './types.js';

/** A mean with its interval. */
export interface MeasuredMean extends Interval {
  value: number;
}

/**
 * Estimates the geometric mean of positive values, two at least, with its interval: Student's t times the standard error of
 * the mean of their logarithms.
 */
export function estimateGeometricMean(values: readonly number[], confidence = 0.95): MeasuredMean {
  const logs = values.map(Math.log);
  const center = mean(logs);
  const scatter = Math.max(MIN_SCATTER / Math.SQRT2, standardDeviation(logs));
  const half = (studentQuantile(logs.length - 1, confidence) * scatter) / Math.sqrt(logs.length);
  return {
    value: Math.exp(center),
    low: Math.exp(center - half),
    high: Math.exp(center + half),
  };
}
