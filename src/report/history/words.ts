import { rate, roundRate, roundTime, time } from '../../format/units.js';
import type {
  HistoryFigure,
  HistoryPlan,
  HistoryPoint,
  HistoryResult,
} from '../../history/result.js';
import type { Interval } from '../../statistics/types.js';

/** Length of a commit's hash in reports. */
const HASH_LENGTH = 8;

/** Shortens the hash of a commit. */
export function shortenCommit(commit: string): string {
  return commit.slice(0, HASH_LENGTH);
}

/** Formats the time of a point in UTC, to the minute: `2026-03-02 09:30`. */
export function formatMinute(startedAt: string): string {
  return startedAt.slice(0, 16).replace('T', ' ');
}

/** Names a point: by its commit, or by its time. */
export function namePoint({ commit, startedAt }: HistoryPoint): string {
  return commit === null ? formatMinute(startedAt) : shortenCommit(commit);
}

/** Names a plan by its requests or its scenarios, up to three of them. */
export function namePlan({ plan }: HistoryPlan): string {
  const all = plan.flows?.scenarios ?? plan.targets;
  const names = [...new Set(all.map(({ name }) => name))];
  const more = names.length - 3;
  return [...names.slice(0, 3), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

/** The figures of a point: their names, and how they are written. */
export interface FigureWords {
  name: string;
  /** In the head of a column. */
  head: string;
  read(point: HistoryPoint): HistoryFigure | null;
  /** Reads the figure of one run. */
  readRun(run: HistoryPoint['runs'][number]): number | null;
  format(value: number): string;
  /** Where the head of a column has the unit. */
  cell(value: number): string;
  tick(value: number): string;
}

/** Lists the figures of a plan's points. */
export function listFigures({
  counted,
}: HistoryPlan): readonly [throughput: FigureWords, p99: FigureWords] {
  const unit = counted ? 'iterations/s' : 'req/s';
  return [
    {
      name: 'Throughput',
      head: unit,
      read: ({ throughput }) => throughput,
      readRun: ({ throughput }) => throughput,
      format: (value) => `${rate(value)} ${unit}`,
      cell: rate,
      tick: roundRate,
    },
    {
      name: counted ? 'p99 of active time' : 'p99 latency',
      head: 'p99',
      read: ({ p99Ms }) => p99Ms,
      readRun: ({ p99Ms }) => p99Ms,
      format: time,
      cell: time,
      tick: roundTime,
    },
  ];
}

/** Formats the ends of an interval. */
export function formatEnds({ low, high }: Interval, { cell }: FigureWords): string {
  return `${cell(low)} to ${cell(high)}`;
}

/** Says how many results there are. */
export function countResults({ plans }: HistoryResult): number {
  return plans.reduce(
    (sum, { points }) => sum + points.reduce((all, { runs }) => all + runs.length, 0),
    0,
  );
}
