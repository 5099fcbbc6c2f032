import { median } from '../../statistics/median.js';
import { estimateRatio } from '../../statistics/ratio.js';
import type { Interval } from '../../statistics/types.js';
import { estimateUnpairedRatio } from '../../statistics/unpaired-ratio.js';
import type { ComparedRun, ComparisonRatio, ComparisonSideName } from '../result.js';

/**
 * Share of the error for which the interval of pairs is computed: one of 95 % as if it were of 97 %. Pairs end when the
 * interval is narrow, so more often when their scatter is underestimated; the rest of the error is for that. The coverage
 * that results is in the table of `wantsMoreRuns`.
 */
const FIXED_NUMBER_ERROR = 0.6;

/** Reads a figure of a run; `null` where it is not known. */
export type ReadFigure = (run: ComparedRun) => number | null;

/** What the runs show of one figure. */
export interface FigureEstimate {
  /** Medians of the runs; `null` where no run has the figure. */
  a: number | null;
  b: number | null;
  /** Runs that do not have the figure, by side, as a share of its runs. */
  missing: Record<ComparisonSideName, number>;
  /** Complete pairs; 0 where the runs are not paired. */
  pairs: number;
  /** Runs in which the figure is 0: a ratio with them has no logarithm. */
  zeros: number;
  /** Computes the ratio with its interval of a confidence. */
  measure(confidence: number): ComparisonRatio | null;
  /** Whether there is an interval. */
  hasInterval: boolean;
}

/**
 * Prepares the estimate of one figure. Runs that ran in pairs give a ratio per pair; stored results, which have no pairs,
 * are compared by their means. Runs without the figure are left out, and with them their pairs.
 */
export function estimateFigure(runs: readonly ComparedRun[], read: ReadFigure): FigureEstimate {
  const a = collectValues(runs, 'a', read);
  const b = collectValues(runs, 'b', read);
  const isPaired = runs.every(({ pair }) => pair !== null);
  const pairs = isPaired ? collectPairs(runs, read) : [];
  const zeros = [...a, ...b].filter((value) => value <= 0).length;
  const samples = isPaired ? pairs.length : Math.min(a.length, b.length);
  const hasInterval = zeros === 0 && samples >= 2;
  const medians = { a: findMedian(a), b: findMedian(b) };
  const measure = (confidence: number): ComparisonRatio | null => {
    if (!hasInterval) return divide(medians.b, medians.a);
    if (!isPaired) return toRatio(estimateUnpairedRatio(a, b, confidence));
    return toRatio(estimateRatio(pairs, 1 - FIXED_NUMBER_ERROR * (1 - confidence)));
  };
  const missing = {
    a: computeMissingShare(runs, 'a', a.length),
    b: computeMissingShare(runs, 'b', b.length),
  };
  return { ...medians, missing, pairs: pairs.length, zeros, hasInterval, measure };
}

function collectValues(
  runs: readonly ComparedRun[],
  side: ComparisonSideName,
  read: ReadFigure,
): number[] {
  return runs.flatMap((run) => (run.side === side ? (readFinite(run, read) ?? []) : []));
}

function computeMissingShare(
  runs: readonly ComparedRun[],
  side: ComparisonSideName,
  known: number,
): number {
  const all = runs.filter((run) => run.side === side).length;
  return all === 0 ? 0 : (all - known) / all;
}

/** Collects the pairs of which both runs have the figure, in the order in which they began. */
function collectPairs(runs: readonly ComparedRun[], read: ReadFigure): [number, number][] {
  const sides = new Map<number | null, Partial<Record<ComparisonSideName, number>>>();
  for (const run of runs) {
    const value = readFinite(run, read);
    if (value !== null) sides.set(run.pair, { ...sides.get(run.pair), [run.side]: value });
  }
  return [...sides.values()].flatMap(({ a, b }) =>
    a === undefined || b === undefined ? [] : [[a, b] as [number, number]],
  );
}

function readFinite(run: ComparedRun, read: ReadFigure): number | null {
  const value = read(run);
  return value !== null && Number.isFinite(value) ? value : null;
}

function findMedian(values: readonly number[]): number | null {
  const middle = median(values);
  return Number.isFinite(middle) ? middle : null;
}

/** Divides without an interval; `null` where a side has no figure or the ratio is not finite. */
function divide(b: number | null, a: number | null): ComparisonRatio | null {
  if (a === null || b === null || !Number.isFinite(b / a)) return null;
  return { estimate: b / a, low: null, high: null };
}

/** Leaves out the interval where it is wider than numbers reach, as that of two runs with little in common. */
function toRatio({ ratio, low, high }: Interval & { ratio: number }): ComparisonRatio | null {
  if (!Number.isFinite(ratio)) return null;
  if (low === 0 || !Number.isFinite(high)) return { estimate: ratio, low: null, high: null };
  return { estimate: ratio, low, high };
}
