// Metrics of scenarios: iterations, their times, checks, and metrics of their own.
import { usageError } from '../../errors/millrace-error.js';
import { rate, share, significant, time } from '../../format/units.js';
import { hasDurationUnit, parseDuration, parseRate } from '../../validation/units.js';
import type { IterationResult, LoadResult, OwnMetric } from '../result.js';
import {
  compare,
  findPoint,
  type IterationProgress,
  type Measure,
  type Progress,
  readNumberOrShare,
  readQuantile,
} from './measure.js';

const DISTRIBUTIONS = { iteration: 'durationMs', active: 'activeMs' } as const;

/** Reads a metric of scenarios with its bound; `null` if it is none. */
export function readScenarioMeasure(
  metric: string,
  distribution: string | undefined,
  bound: string,
  option: string,
): Measure | null {
  if (distribution !== undefined) return readTime(metric, distribution, bound, option);
  switch (metric) {
    case 'checks':
      return readChecks(bound);
    case 'iterations':
      return readCompleted(bound);
    case 'iterations.rate':
      return readRate(bound, option);
    case 'iterations.failed':
      return readCountOrShare('failed', ({ started, rest }) => started + rest, bound);
    case 'iterations.notstarted':
      return readCountOrShare(
        'notStarted',
        ({ started, notStarted, rest }) => started + notStarted + rest,
        bound,
      );
    default:
      return null;
  }
}

/** Selects the iterations of all scenarios, or of one. */
function selectIterations(
  { iterations = null, scenarios = [] }: LoadResult,
  name: string | null,
): IterationResult | null {
  return name === null ? iterations : (scenarios.find((one) => one.name === name) ?? null);
}

function readOfIterations(read: (iterations: IterationResult) => number | null): Measure['read'] {
  return (result, name) => {
    const iterations = selectIterations(result, name);
    return { value: iterations && read(iterations) };
  };
}

function readTime(
  metric: string,
  distribution: string,
  bound: string,
  option: string,
): Measure | null {
  const point = findPoint(metric);
  const key = DISTRIBUTIONS[distribution as keyof typeof DISTRIBUTIONS];
  if (point === undefined || key === undefined || !hasDurationUnit(bound)) return null;
  const ms = parseDuration(bound, option);
  const read: Measure['read'] = (result, name) => {
    const times = selectIterations(result, name)?.[key];
    const isAtLeast = point !== 'min' && point in (times?.atLeast ?? {});
    return { value: times?.[point] ?? null, isAtLeast };
  };
  const quantile = readQuantile(point);
  return { topic: 'iterations', read, format: time, bound: ms, boundMs: ms, quantile };
}

/** The share of the checks that passed. */
function readChecks(bound: string): Measure | null {
  const limit = readNumberOrShare(bound);
  if (limit === null || !limit.isShare) return null;
  const read: Measure['read'] = ({ steps = [] }, name) => {
    const checks = steps
      .filter((step) => name === null || step.scenario === name || step.name === name)
      .flatMap((step) => step.checks);
    const passed = checks.reduce((sum, one) => sum + one.passed, 0);
    const all = checks.reduce((sum, one) => sum + one.failed, passed);
    return { value: all === 0 ? null : passed / all };
  };
  return { topic: 'checks', read, format: share, bound: limit.value, accepts: 'minimum' };
}

/** The number of completed iterations. */
function readCompleted(bound: string): Measure | null {
  const limit = readNumberOrShare(bound);
  if (limit === null || limit.isShare) return null;
  return {
    topic: 'iterations',
    read: readOfIterations(({ completed }) => completed),
    format: rate,
    bound: limit.value,
    accepts: 'both',
    canHold: whileRunning(
      (iterations, comparison) =>
        comparison.startsWith('<') || compare(countReachable(iterations), comparison, limit.value),
    ),
  };
}

/** Completed iterations per second. */
function readRate(bound: string, option: string): Measure {
  const perSecond = parseRate(bound, option, { min: 0, max: Number.MAX_SAFE_INTEGER });
  return {
    topic: 'iterations',
    read: readOfIterations((iterations) => iterations.rate),
    format: rate,
    bound: perSecond,
    accepts: 'both',
    canHold: whileRunning(
      (iterations, comparison, { shortestMs }) =>
        comparison.startsWith('<') ||
        shortestMs === 0 ||
        compare((countReachable(iterations) * 1000) / shortestMs, comparison, perSecond),
    ),
  };
}

/** Counts the iterations that may be completed at the end. */
function countReachable({ started, failed, rest }: IterationProgress): number {
  return started - failed + rest;
}

/** A number of iterations, or their share of those that were due. */
function readCountOrShare(
  key: 'failed' | 'notStarted',
  countDue: (iterations: IterationProgress) => number,
  bound: string,
): Measure | null {
  const limit = readNumberOrShare(bound);
  if (limit === null) return null;
  const { value, isShare } = limit;
  const measure = { topic: 'iterations', bound: value } as const;
  if (!isShare) {
    const canHold = whileRunning((now, comparison) => compare(now[key], comparison, value));
    return { ...measure, read: readOfIterations((it) => it[key]), format: rate, canHold };
  }
  const read = readOfIterations((iterations) => {
    const due = countDue({ ...iterations, rest: 0 });
    return due === 0 ? null : iterations[key] / due;
  });
  const canHold = whileRunning((now, comparison) => {
    const due = countDue(now);
    return compare(due === 0 ? 0 : now[key] / due, comparison, value);
  });
  return { ...measure, read, format: share, canHold };
}

/** Judges the iterations of a run in progress. */
function whileRunning(
  judge: (iterations: IterationProgress, comparison: string, progress: Progress) => boolean,
): NonNullable<Measure['canHold']> {
  return (progress, comparison) =>
    progress.iterations === undefined || judge(progress.iterations, comparison, progress);
}

const OWN_SYNTAX = /^metrics\.(.+?)\s*(<=|>=|<|>)\s*(\S+)$/i;

const OWN_FIGURES = [
  ...(['count', 'sum', 'min', 'mean', 'stdev', 'max'] as const),
  ...(['p50', 'p75', 'p90', 'p95', 'p99', 'p99_9'] as const),
] satisfies (keyof OwnMetric)[];

/** A condition on a metric of the scenarios' own. */
export interface OwnMetricCondition {
  metric: string;
  comparison: string;
  measure: Measure;
}

/** Reads a condition such as `metrics.basket.p95<20`, or of the sum `metrics.orders>100`; `null` if it is about another metric. */
export function readOwnMetric(condition: string, option: string): OwnMetricCondition | null {
  if (!/^metrics\./i.test(condition)) return null;
  const [, path = '', comparison = '', text = ''] = OWN_SYNTAX.exec(condition) ?? [];
  const bound = text === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(bound)) {
    throw usageError(
      `${option}: a condition on a metric compares it with a number: 'metrics.basket.p95<20' or, of the sum, 'metrics.orders>100' (got '${condition}')`,
    );
  }
  const { name, figure } = splitFigure(path);
  const read: Measure['read'] = ({ metrics = {} }) => ({
    value: Object.hasOwn(metrics, name) ? (metrics[name]?.[figure] ?? null) : null,
  });
  const measure: Measure = { topic: 'metrics', read, format: significant, bound, accepts: 'both' };
  return { metric: `metrics.${path}`, comparison, measure };
}

/** Splits `basket.p95` into the metric and the figure; without one it is the sum. */
function splitFigure(path: string): { name: string; figure: (typeof OWN_FIGURES)[number] } {
  for (const figure of OWN_FIGURES) {
    const end = `.${figure.replace('_', '.')}`;
    const isNamed = path.length > end.length && path.endsWith(end);
    if (isNamed) return { name: path.slice(0, -end.length), figure };
  }
  return { name: path, figure: 'sum' };
}
