import type { Distribution } from '../load/result.js';

/** A statistic of a distribution that is a time. */
export type Statistic = Exclude<keyof Distribution, 'count' | 'censored'>;

/** What reports print of a distribution, in this order. */
export const statistics: readonly { name: string; key: Statistic }[] = [
  { name: 'p50', key: 'p50' },
  { name: 'p75', key: 'p75' },
  { name: 'p90', key: 'p90' },
  { name: 'p95', key: 'p95' },
  { name: 'p99', key: 'p99' },
  { name: 'p99.9', key: 'p99_9' },
  { name: 'p99.99', key: 'p99_99' },
  { name: 'max', key: 'max' },
  { name: 'mean', key: 'mean' },
  { name: 'stdev', key: 'stdev' },
];

/** Whether two distributions are the same in everything that is printed of them. */
export function sameDistribution(a: Distribution, b: Distribution): boolean {
  return a.count === b.count && statistics.every(({ key }) => a[key] === b[key]);
}

/** Whether so many samples are censored that a printed percentile may be too low: from one in 10,000, the reach of p99.99. */
export function censoringMatters(distribution: Distribution): boolean {
  return distribution.censored > 0 && distribution.censored * 10_000 >= distribution.count;
}
