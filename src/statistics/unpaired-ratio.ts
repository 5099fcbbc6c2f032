import { mean, standardDeviation } from './moments.js';
import { MIN_SCATTER } from './ratio.js';
import { studentQuantile } from './student.js';
import type { Interval } from './types.js';

/**
 * Estimates the ratio after / before of positive values that are not paired, two at least of each: the difference of the
 * means of their logarithms with Welch's interval, which assumes neither equal numbers nor equal variances.
 */
export function estimateUnpairedRatio(
  before: readonly number[],
  after: readonly number[],
  confidence = 0.95,
): Interval & { ratio: number } {
  const [from, to] = [summarizeLogs(before), summarizeLogs(after)];
  const center = to.mean - from.mean;
  const variance = from.variance + to.variance;
  const degreesOfFreedom =
    variance ** 2 /
    (from.variance ** 2 / (before.length - 1) + to.variance ** 2 / (after.length - 1));
  const half = studentQuantile(degreesOfFreedom, confidence) * Math.sqrt(variance);
  return {
    ratio: Math.exp(center),
    low: Math.exp(center - half),
    high: Math.exp(center + half),
  };
}

/** Computes the mean of the logarithms, and the variance of that mean. A pair of values scatters by both of them. */
function summarizeLogs(values: readonly number[]): { mean: number; variance: number } {
  const logs = values.map(Math.log);
  const scatter = Math.max(MIN_SCATTER / Math.SQRT2, standardDeviation(logs));
  return { mean: mean(logs), variance: scatter ** 2 / values.length };
}
