import { time } from '../format/units.js';
import type { Distribution, LoadResult, Statistic } from '../load/result.js';

/** What reports print of a distribution, in this order. */
export const STATISTICS: readonly { name: string; key: Statistic }[] = [
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
export function isSameDistribution(a: Distribution, b: Distribution): boolean {
  return a.count === b.count && STATISTICS.every(({ key }) => a[key] === b[key]);
}

/** Figures, and which of them are bounds or chance. */
type StatisticValues<Name extends Statistic> = { [name in Name]: number | null } & {
  atLeast?: { [name in Name]?: true };
  imprecise?: { [name in Name]?: true };
};

/** A figure as text: a bound is told as such, and so is what chance decided. */
export function formatStatistic<Name extends Statistic>(
  values: StatisticValues<Name>,
  key: Name,
  bound: 'at least' | '≥' = 'at least',
): string {
  const { atLeast, imprecise } = values;
  const mark = atLeast?.[key] ? `${bound} ` : imprecise?.[key] ? '~ ' : '';
  return mark + time(values[key]);
}

/** The share of the times of which nothing is known but that they are longer than the longest that was seen. */
export function computeUnknownShare(points: LoadResult['percentiles']['latency']): number {
  return 1 - (points.at(-1)?.[0] ?? 0) / 100;
}

/** Whether figures of a distribution are bounds. */
export function isBounded({ atLeast }: Distribution): boolean {
  return Object.keys(atLeast).length > 0;
}

/** What the marks of figures mean, where there are any; those of bounds may be explained elsewhere. */
export function explainMarks(
  clocks: readonly Distribution[],
  { bounds } = { bounds: true },
): string[] {
  const isImprecise = clocks.some(({ imprecise }) => Object.keys(imprecise).length > 0);
  const meanings = [
    bounds &&
      clocks.some(isBounded) &&
      'at least: requests that did not finish were older than all that did; mean and stdev count what is longer than max as max (restricted mean).',
    isImprecise && '~: fewer than 10 samples lie above, so chance decides.',
  ];
  return meanings.filter((meaning) => meaning !== false);
}

/** Whether so many samples are censored that the estimate depends on it: from one in 100. */
export function isCensoringVisible(distribution: Distribution): boolean {
  return distribution.censored > 0 && distribution.censored * 100 >= distribution.count;
}
