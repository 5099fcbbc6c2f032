import { median } from './median.js';
import { standardDeviation } from './moments.js';
import { studentQuantile } from './student.js';
import type { MeasuredRatio } from './types.js';

/**
 * Minimum standard deviation of a pair's log ratio for the interval: pairs agree better than 0.5 % only by chance, as a
 * machine varies by that much between two blocks.
 */
export const MIN_SCATTER = 0.005;

/**
 * Estimates the ratio after / before of paired blocks with its interval, of 95 % unless asked otherwise: the Hodges-Lehmann estimate of the log
 * ratios (the median of the means of all pairs of them, which one bad block hardly moves), plus and minus Student's t
 * times their standard error.
 *
 * The interval of Walsh averages, which assumes no distribution, does not reach 95 % with fewer than six pairs. A
 * robust scale is meaningless for three values. The standard deviation grows with an outlier, which makes the interval
 * wider but not wrong. Simulated coverage, 20 000 runs each, and half the mean width at a scatter of 3 % per block:
 *
 * | pairs | normal       | every tenth block 5 times as noisy | Laplace | skewed: a block only loses |
 * |-------|--------------|--------|--------|--------|
 * | 2     | 98.5 %, 30 % | 98.5 % | 99.1 % | 99.2 % |
 * | 3     | 95.0 %, 9 %  | 96.2 % | 96.2 % | 97.4 % |
 * | 4     | 94.8 %, 6 %  | 96.4 % | 95.9 % | 96.8 % |
 * | 6     | 94.8 %, 4 %  | 96.7 % | 95.8 % | 96.2 % |
 * | 8     | 94.3 %, 3 %  | 96.7 % | 95.5 % | 96.5 % |
 *
 * The scatter of a single pair is unknown: its interval is from 0 to infinity. If a block has throughput 0 there is no
 * logarithm: the interval is from the minimum to the maximum ratio.
 */
export function estimateRatio(
  pairs: readonly (readonly [before: number, after: number])[],
  confidence = 0.95,
): MeasuredRatio {
  const ratios = pairs.map(([before, after]) => after / before);
  const logs = ratios.map(Math.log);
  const center = hodgesLehmann(logs);
  const ratio = Math.exp(center);
  if (pairs.length < 2)
    return { ratio, low: 0, high: Number.POSITIVE_INFINITY, pairs: pairs.length };
  if (!logs.every(Number.isFinite)) {
    return { ratio, low: Math.min(...ratios), high: Math.max(...ratios), pairs: pairs.length };
  }
  const scatter = Math.max(MIN_SCATTER, standardDeviation(logs));
  const half = (studentQuantile(logs.length - 1, confidence) * scatter) / Math.sqrt(logs.length);
  return {
    ratio,
    low: Math.exp(center - half),
    high: Math.exp(center + half),
    pairs: pairs.length,
  };
}

/**
 * Returns the median of the means of all pairs of values, each value with itself included (Hodges and Lehmann 1963).
 */
function hodgesLehmann(values: readonly number[]): number {
  return median(values.flatMap((a, i) => values.slice(i).map((b) => (a + b) / 2)));
}
