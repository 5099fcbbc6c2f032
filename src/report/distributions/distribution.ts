import { time } from '../../format/units.js';
import type { Distribution, Statistic } from '../../load/result.js';
import type { PercentilePoints } from './percentiles.js';

/** Statistics of a distribution that reports print, in order. */
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

/** Whether two distributions are equal in everything that reports print. */
export function isSameDistribution(a: Distribution, b: Distribution): boolean {
  return a.count === b.count && STATISTICS.every(({ key }) => a[key] === b[key]);
}

/** Values of statistics, and which of them are lower bounds or imprecise. */
type StatisticValues<Name extends Statistic> = { [name in Name]: number | null } & {
  atLeast?: { [name in Name]?: true };
  imprecise?: { [name in Name]?: true };
};

/** Formats a statistic in milliseconds; lower bounds and imprecise values are marked. */
export function formatStatistic<Name extends Statistic>(
  values: StatisticValues<Name>,
  key: Name,
  bound: 'at least' | '≥' = 'at least',
): string {
  const { atLeast, imprecise } = values;
  const mark = atLeast?.[key] ? `${bound} ` : imprecise?.[key] ? '~ ' : '';
  return mark + time(values[key]);
}

/** Computes the share of times of which only a lower bound is known: they exceed the longest observed time. */
export function computeUnknownShare(points: PercentilePoints): number {
  return 1 - (points.at(-1)?.[0] ?? 0) / 100;
}

/** Whether statistics of a distribution are lower bounds. */
export function isBounded({ atLeast }: Distribution): boolean {
  return Object.keys(atLeast).length > 0;
}

/** Explains the marks in use. With `bounds: false` the mark of lower bounds is left out, as a warning explains it. */
export function explainMarks(
  clocks: readonly Distribution[],
  { bounds } = { bounds: true },
): string[] {
  const isImprecise = clocks.some(({ imprecise }) => Object.keys(imprecise).length > 0);
  const meanings = [
    bounds &&
      clocks.some(isBounded) &&
      'at least: unfinished requests were older than all finished ones; mean and stdev count times beyond max as max (restricted mean).',
    isImprecise && '~: imprecise, as fewer than 10 samples lie above.',
  ];
  return meanings.filter((meaning) => meaning !== false);
}

/** Whether enough samples are censored for the estimate to depend on them: at least one in 100. */
export function isCensoringVisible(distribution: Distribution): boolean {
  return distribution.censored > 0 && distribution.censored * 100 >= distribution.count;
}
