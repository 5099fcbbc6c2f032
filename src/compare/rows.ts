import { plural, share } from '../format/units.js';
import { estimateFigure, type FigureEstimate, type ReadFigure } from './estimate.js';
import { correctConfidences } from './holm.js';
import type {
  ComparedRun,
  ComparisonResult,
  ComparisonRow,
  ComparisonVerdict,
  Metric,
  Ratio,
  SideName,
} from './result.js';
import { judgeInterval, toEqualRange } from './words.js';

/** Confidence of the verdict's interval, unless asked otherwise. */
export const DEFAULT_CONFIDENCE = 0.95;

/**
 * Maximum share of a side's runs in which the load generator was the limit, or that do not have a figure. One disturbed
 * run of ten does not move the verdict. More of them hide a difference: both sides then are as fast as the generator, and
 * a percentile of which only a bound is known is missing where latency is highest.
 */
const MAX_UNUSABLE_SHARE = 0.1;

/** Metrics in the order of the rows. */
const METRICS: readonly Metric[] = ['throughput', 'p50Ms', 'p99Ms', 'cpuPerRequestUs', 'memoryMb'];

/** Metrics that the load generator limits where it is the limit. CPU per request and memory are the server's alone. */
const LIMITED_BY_CLIENT: ReadonlySet<Metric> = new Set(['throughput', 'p50Ms', 'p99Ms']);

/** What is compared, and how. */
export interface ComparisonSettings {
  /** Relative difference up to which two versions count as equal. */
  margin: number;
  /** The verdict's metric: requests/s, or p99 where a rate was given. */
  metric: Metric;
  /** Confidence of the verdict's interval, 0.95 by default. */
  confidence?: number;
}

/** A row before its confidence is chosen. */
interface OpenRow {
  metric: Metric;
  name: string | null;
  estimate: FigureEstimate;
}

/**
 * Compares the runs of two sides. The runs are the sample: how much they vary decides how wide the intervals are, not how
 * many requests each had. The first row is the verdict's and has the confidence that was asked for. The others are
 * corrected for their number, among themselves. Rows of figures that no run has are left out, but for the first.
 */
export function compareRuns(
  runs: readonly ComparedRun[],
  { margin, metric, confidence = DEFAULT_CONFIDENCE }: ComparisonSettings,
): Pick<ComparisonResult, 'rows' | 'verdict'> {
  const bound = describeClientBound(runs);
  const judge = (row: OpenRow, ratio: Ratio | null): ComparisonVerdict =>
    (bound !== null && LIMITED_BY_CLIENT.has(row.metric)) || isIncomplete(row.estimate)
      ? 'cannot-tell'
      : judgeRatio(ratio, margin, row.metric);
  const close = (row: OpenRow, chosen: number): ComparisonRow => {
    const { a, b, measure } = row.estimate;
    const ratio = measure(chosen);
    const { metric, name } = row;
    return { metric, name, a, b, ratio, confidence: chosen, verdict: judge(row, ratio) };
  };
  const [first, others] = openRows(runs, metric);
  const verdictRow = close(first, confidence);
  const corrected = correctRows(others, judge, confidence);
  const reason =
    verdictRow.verdict === 'cannot-tell'
      ? (bound ?? describeDoubt(first.estimate, verdictRow, margin))
      : null;
  return {
    rows: [verdictRow, ...others.map((row, i) => close(row, corrected[i] ?? confidence))],
    verdict: { metric, word: verdictRow.verdict, reason },
  };
}

/** Opens the verdict's row and all others: of all requests, then of each name in the order of its first appearance. */
function openRows(runs: readonly ComparedRun[], first: Metric): [OpenRow, OpenRow[]] {
  const open = (metric: Metric, name: string | null): OpenRow => ({
    metric,
    name,
    estimate: estimateFigure(runs, readerOf(metric, name)),
  });
  const rows = [null, ...listNames(runs)].flatMap((name) =>
    METRICS.filter((metric) => name !== null || metric !== first).map((metric) =>
      open(metric, name),
    ),
  );
  const known = rows.filter(({ estimate }) => estimate.a !== null || estimate.b !== null);
  return [open(first, null), known];
}

/** Lists the request names that both sides have; none if there is only one, as its figures are those of all requests. */
function listNames(runs: readonly ComparedRun[]): string[] {
  const namesOf = (side: SideName) =>
    new Set(runs.flatMap((run) => (run.side === side ? run.byName.map(({ name }) => name) : [])));
  const [ofA, ofB] = [namesOf('a'), namesOf('b')];
  const shared = [...ofA].filter((name) => ofB.has(name));
  return new Set([...ofA, ...ofB]).size > 1 ? shared : [];
}

function readerOf(metric: Metric, name: string | null): ReadFigure {
  if (name === null) return ({ figures }) => figures[metric];
  return ({ byName }) => byName.find((one) => one.name === name)?.figures[metric] ?? null;
}

/** Chooses the confidences of the rows; those without an interval tell nothing and are not counted. */
function correctRows(
  rows: readonly OpenRow[],
  judge: (row: OpenRow, ratio: Ratio | null) => ComparisonVerdict,
  confidence: number,
): number[] {
  const claims = new Map(
    rows
      .filter(({ estimate }) => estimate.hasInterval)
      .map((row) => [
        row,
        {
          tells: (chosen: number) => judge(row, row.estimate.measure(chosen)) !== 'cannot-tell',
        },
      ]),
  );
  const chosen = correctConfidences([...claims.values()], confidence);
  const byRow = new Map([...claims.keys()].map((row, i) => [row, chosen[i]]));
  return rows.map((row) => byRow.get(row) ?? confidence);
}

function isIncomplete({ missing }: FigureEstimate): boolean {
  return Math.max(missing.a, missing.b) > MAX_UNUSABLE_SHARE;
}

function judgeRatio(ratio: Ratio | null, margin: number, metric: Metric): ComparisonVerdict {
  if (ratio === null || ratio.low === null || ratio.high === null) return 'cannot-tell';
  return judgeInterval({ low: ratio.low, high: ratio.high }, margin, metric);
}

/** Says in how many runs the load generator was the limit, where these are too many of a side; else `null`. */
function describeClientBound(runs: readonly ComparedRun[]): string | null {
  const isTooMany = (['a', 'b'] as const).some((side) => {
    const own = runs.filter((run) => run.side === side);
    const bound = own.filter(({ clientBound }) => clientBound);
    return bound.length > MAX_UNUSABLE_SHARE * own.length;
  });
  if (!isTooMany) return null;
  const bound = runs.filter(({ clientBound }) => clientBound).length;
  return `the load generator was the limit in ${bound} of ${plural(runs.length, 'run')}`;
}

/** Says why the verdict's row tells nothing, where the load generator is not the reason. */
function describeDoubt(estimate: FigureEstimate, { ratio }: ComparisonRow, margin: number): string {
  const { pairs, zeros, hasInterval, missing, a, b } = estimate;
  if (a === null || b === null) return `no run of ${a === null ? 'A' : 'B'} has this figure`;
  if (isIncomplete(estimate)) {
    const side = missing.a > missing.b ? 'a' : 'b';
    return `${share(missing[side])} of the runs of ${side.toUpperCase()} do not have this figure`;
  }
  if (zeros > 0) return `the figure is 0 in ${plural(zeros, 'run')}`;
  if (!hasInterval) {
    return pairs === 1
      ? 'one run of each side does not show how much runs vary'
      : 'a single run of a side does not show how much its runs vary';
  }
  if (ratio?.low == null || ratio.high === null) return 'the runs vary too much for an interval';
  const equal = toEqualRange(margin);
  const text = (value: number) => value.toFixed(3);
  return `the interval of B / A, ${text(ratio.low)} to ${text(ratio.high)}, is only partly within the margin, ${text(equal.low)} to ${text(equal.high)}`;
}
