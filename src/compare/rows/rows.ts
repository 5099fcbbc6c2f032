import { plural } from '../../format/units.js';
import type {
  ComparedRun,
  ComparisonMetric,
  ComparisonRatio,
  ComparisonResult,
  ComparisonRow,
  ComparisonSideName,
  ComparisonVerdict,
} from '../result.js';
import { describeDoubt, type GeneralDoubts, isOfTooFew } from './doubt.js';
import { estimateFigure, type FigureEstimate, type ReadFigure } from './estimate.js';
import { correctConfidences } from './holm.js';
import { judgeInterval, toEqualRange } from './words.js';

/** Confidence of the verdict's interval, unless asked otherwise. */
export const DEFAULT_CONFIDENCE = 0.95;

/** Metrics in the order of the rows. */
const METRICS: readonly ComparisonMetric[] = [
  'throughput',
  'p50Ms',
  'p99Ms',
  'cpuPerRequestUs',
  'memoryMb',
];

/** What is compared, and how. */
export interface ComparisonSettings extends GeneralDoubts {
  /** Relative difference up to which two versions count as equal. */
  margin: number;
  /** The verdict's metric: requests/s, or p99 where a rate was given. */
  metric: ComparisonMetric;
  /** Confidence of the verdict's interval, 0.95 by default. */
  confidence?: number;
}

/** A row before its confidence is chosen. */
interface OpenRow {
  metric: ComparisonMetric;
  name: string | null;
  estimate: FigureEstimate;
  doubt: string | null;
}

/**
 * Compares the runs of two sides. The runs are the sample: how much they vary decides how wide the intervals are, not how
 * many requests each had. The first row is the verdict's and has the confidence that was asked for. The others are
 * corrected for their number, among themselves. Rows of figures that no run has are left out, but for the first.
 */
export function compareRuns(
  runs: readonly ComparedRun[],
  settings: ComparisonSettings,
): Pick<ComparisonResult, 'rows' | 'verdict'> {
  const { margin, metric, confidence = DEFAULT_CONFIDENCE } = settings;
  const judge = ({ doubt, metric }: OpenRow, ratio: ComparisonRatio | null): ComparisonVerdict =>
    doubt === null ? judgeRatio(ratio, margin, metric) : 'cannot-tell';
  const close = (row: OpenRow, chosen: number): ComparisonRow => {
    const { metric, name, doubt, estimate } = row;
    const { a, b, measure } = estimate;
    const ratio = measure(chosen);
    const [imprecise, verdict] = [isOfTooFew(runs, row), judge(row, ratio)];
    const counted = countsIterations(runs, row) ? ({ counted: 'iterations' } as const) : {};
    return { metric, name, ...counted, a, b, ratio, confidence: chosen, doubt, imprecise, verdict };
  };
  const [first, others] = openRows(runs, settings);
  const verdictRow = close(first, confidence);
  const corrected = correctRows(others, judge, confidence);
  const reason =
    verdictRow.verdict === 'cannot-tell'
      ? (first.doubt ?? describeWidth(first.estimate, verdictRow, margin))
      : null;
  return {
    rows: [verdictRow, ...others.map((row, i) => close(row, corrected[i] ?? confidence))],
    verdict: { metric, word: verdictRow.verdict, reason },
  };
}

/** Metrics of iterations, in runs of scenarios; CPU is that per request, and memory the server's. */
const OF_ITERATIONS: readonly ComparisonMetric[] = ['throughput', 'p50Ms', 'p99Ms'];

function countsIterations(
  runs: readonly ComparedRun[],
  { metric, name }: Pick<OpenRow, 'metric' | 'name'>,
): boolean {
  const isOfAll = name === null && OF_ITERATIONS.includes(metric);
  return isOfAll && runs.some(({ counted }) => counted !== undefined);
}

/** Opens the verdict's row and all others: of all requests, then of each name in the order of its first appearance. */
function openRows(
  runs: readonly ComparedRun[],
  settings: ComparisonSettings,
): [OpenRow, OpenRow[]] {
  const { metric: first } = settings;
  const open = (metric: ComparisonMetric, name: string | null): OpenRow => {
    const row = { metric, name, estimate: estimateFigure(runs, readerOf(metric, name)) };
    return { ...row, doubt: describeDoubt(runs, row, settings) };
  };
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
  const namesOf = (side: ComparisonSideName) =>
    new Set(runs.flatMap((run) => (run.side === side ? run.byName.map(({ name }) => name) : [])));
  const [ofA, ofB] = [namesOf('a'), namesOf('b')];
  const shared = [...ofA].filter((name) => ofB.has(name));
  return new Set([...ofA, ...ofB]).size > 1 ? shared : [];
}

function readerOf(metric: ComparisonMetric, name: string | null): ReadFigure {
  if (name === null) return ({ figures }) => figures[metric];
  return ({ byName }) => byName.find((one) => one.name === name)?.figures[metric] ?? null;
}

/** Chooses the confidences of the rows; those without an interval tell nothing and are not counted. */
function correctRows(
  rows: readonly OpenRow[],
  judge: (row: OpenRow, ratio: ComparisonRatio | null) => ComparisonVerdict,
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

function judgeRatio(
  ratio: ComparisonRatio | null,
  margin: number,
  metric: ComparisonMetric,
): ComparisonVerdict {
  if (ratio === null || ratio.low === null || ratio.high === null) return 'cannot-tell';
  return judgeInterval({ low: ratio.low, high: ratio.high }, margin, metric);
}

/** Says what an interval lacks to tell something. */
function describeWidth(
  { pairs, zeros, hasInterval }: FigureEstimate,
  { ratio }: ComparisonRow,
  margin: number,
): string {
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
