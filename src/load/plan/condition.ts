import { usageError } from '../../errors.js';
import { rate, share, time } from '../../format/units.js';
import { hasDurationUnit, parseDuration, parseRate } from '../../units.js';
import type { Distribution, LoadResult } from '../result.js';

/** Progress of a run, as far as conditions need it. */
export interface Progress {
  sent: number;
  /** Requests that were due and had no connection. */
  connectFailed: number;
  /** Status errors, transport errors and timeouts. */
  errors: number;
  timeouts: number;
  /** Samples above the condition's bound in time. */
  above: number;
  /** Maximum number of requests that are still to come. */
  rest: number;
  /** The shortest length that the run may come to. */
  shortestMs: number;
}

/** A condition that a result must fulfil. */
export interface Condition {
  /** As given. */
  text: string;
  /** `null` if it holds, else what was measured, in words. */
  failure(result: LoadResult): string | null;
  /** What was measured, in words. */
  describe(result: LoadResult): string;
  /** What is held against the bound: milliseconds, a number, or a share; `null` without a sample. */
  measured(result: LoadResult): number | null;
  /** What `measured` is held against. */
  bound: number;
  /** What it is about: `p99`, `errors`, ... */
  metric: string;
  /** Of a percentile of a distribution: which, from 0 to 1, and the time that it is held against. */
  quantile: number | null;
  boundMs: number | null;
  /** The time is the service time, not the latency. */
  ofServiceTime: boolean;
  /** Whether it cannot hold at the end of the run, whatever is still to come. */
  isLost(progress: Progress): boolean;
}

/** Names are read in any case. */
const SYNTAX = /^(?:(latency|service|connect|tls)\.)?([a-z0-9_.-]+)\s*(<=|>=|<|>)\s*(\S+)$/i;
const EXAMPLES =
  "'p99<50ms', 'service.p99.9<=1s', 'max<2s', 'errors<1%', 'errors<=10', 'timeouts<1' or 'throughput>1000'";

const DISTRIBUTIONS = {
  latency: 'latencyMs',
  service: 'serviceTimeMs',
  connect: 'connectMs',
  tls: 'tlsMs',
} as const;
const POINTS = [
  'min',
  'mean',
  'stdev',
  'p50',
  'p75',
  'p90',
  'p95',
  'p99',
  'p99_9',
  'p99_99',
  'max',
] as const satisfies (keyof Distribution)[];

/** Reads a condition such as `p99<50ms`: what must hold, not what must not. */
export function parseCondition(text: string, given: string): Condition {
  const [, distribution, metric = '', comparison = '', bound = ''] = SYNTAX.exec(text.trim()) ?? [];
  const measure = readMeasure(metric.toLowerCase(), distribution?.toLowerCase(), bound, given);
  if (!measure) {
    const meant = suggestCondition(text);
    throw usageError(
      meant === null
        ? `${given} must be a condition such as ${EXAMPLES} (got '${text}')`
        : `${given} must be a condition (got '${text}'): write '${meant}'`,
    );
  }
  if (!measure.hasMinimum && comparison.startsWith('>')) {
    throw usageError(`${given} says what must hold: write '${suggestCondition(text)}'`);
  }
  const { quantile = null, boundMs = null } = measure;
  return {
    text,
    metric: metric.toLowerCase(),
    quantile,
    boundMs,
    measured: measure.read,
    bound: measure.bound,
    ofServiceTime: measure.ofServiceTime ?? false,
    isLost: (progress) => !(measure.mayHold?.(progress, comparison) ?? true),
    describe: (result) => describeMeasured(measure, result),
    failure(result) {
      const value = measure.read(result);
      if (value === null) return 'there is no sample';
      // What is at least so much may be more: that it stays below a bound is not shown.
      const atLeast = measure.isAtLeast?.(result) ?? false;
      if (!atLeast && compare(value, comparison, measure.bound)) return null;
      return `it is ${describeMeasured(measure, result)}`;
    },
  };
}

function describeMeasured(measure: Measure, result: LoadResult): string {
  const value = measure.read(result);
  if (value === null) return 'without a sample';
  return `${measure.isAtLeast?.(result) ? 'at least ' : ''}${measure.format(value)}`;
}

/** What other tools call the metrics. */
const OTHER_NAMES: Record<string, string> = {
  ...{ avg: 'mean', average: 'mean', med: 'p50', median: 'p50', std: 'stdev', stddev: 'stdev' },
  ...{ error: 'errors', error_rate: 'errors', failed: 'errors', failures: 'errors' },
  ...{ http_req_failed: 'errors', timeout: 'timeouts' },
  ...{ rps: 'throughput', qps: 'throughput', rate: 'throughput', http_reqs: 'throughput' },
};

const LOOSE_SYNTAX =
  /^((?:latency|service|connect|tls)\.)?([^<>=\s]+)\s*(<=|>=|===?|=|<|>)\s*(\S+)$/i;

/** The condition that was probably meant by one that other tools would read, or whose comparison points the wrong way. */
function suggestCondition(text: string): string | null {
  const [, distribution = '', name = '', sign = '', bound = ''] =
    LOOSE_SYNTAX.exec(text.trim().toLowerCase()) ?? [];
  const plain = name.replace(/^p\(?([\d.]+)\)?$/, 'p$1');
  const metric = OTHER_NAMES[plain] ?? plain;
  const isTime = POINTS.some((point) => point === metric.replace('.', '_'));
  const unit = isTime && /^[\d.]+$/.test(bound) ? 'ms' : '';
  const comparison = metric === 'throughput' ? minimumSign(sign) : maximumSign(sign);
  const suggestion = `${distribution}${metric}${comparison}${bound}${unit}`;
  const [, ...parts] = SYNTAX.exec(suggestion) ?? [];
  try {
    return readMeasure(parts[1] ?? '', parts[0], parts[3] ?? '', '') && suggestion;
  } catch {
    return null; // The bound is no duration or rate.
  }
}

/** The comparison with a maximum: what must not be above it is the same as what must hold. */
function maximumSign(sign: string): string {
  if (sign === '>=') return '<';
  return sign === '<' ? '<' : '<=';
}

function minimumSign(sign: string): string {
  return sign.startsWith('=') ? '>=' : sign;
}

/** What of a result is compared, and with what. */
interface Measure {
  read(result: LoadResult): number | null;
  /** Whether what is read is a lower bound. */
  isAtLeast?(result: LoadResult): boolean;
  format(value: number): string;
  bound: number;
  quantile?: number | null;
  boundMs?: number;
  ofServiceTime?: boolean;
  /** Whether it may have a minimum; the others have a maximum only. */
  hasMinimum?: boolean;
  /** Whether the comparison may still hold at the end; absent where only the end tells. */
  mayHold?(progress: Progress, comparison: string): boolean;
}

function readMeasure(
  metric: string,
  distribution: string | undefined,
  bound: string,
  given: string,
): Measure | null {
  const point = POINTS.find((point) => point === metric.replace('.', '_'));
  if (point) {
    if (!hasDurationUnit(bound)) return null;
    const key = DISTRIBUTIONS[(distribution ?? 'latency') as keyof typeof DISTRIBUTIONS];
    const ms = parseDuration(bound, given);
    const read = (result: LoadResult) => result[key][point];
    const isAtLeast = (result: LoadResult) => point !== 'min' && point in result[key].atLeast;
    const quantile = readQuantile(point);
    const isWatched = key === 'latencyMs' || key === 'serviceTimeMs';
    const ofServiceTime = key === 'serviceTimeMs';
    const maxShareAbove = isWatched ? findAllowedShare(point, quantile) : null;
    const measure = {
      read,
      isAtLeast,
      format: time,
      bound: ms,
      boundMs: ms,
      quantile,
      ofServiceTime,
    };
    if (maxShareAbove === null) return measure;
    // Of any number of requests none may be above the bound of the longest: not 0 times infinity.
    const allowed = (samples: number) => (maxShareAbove === 0 ? 0 : maxShareAbove * samples);
    const mayHold = ({ above, sent, rest }: Progress) => above <= allowed(sent + rest) + ROUNDING;
    return { ...measure, mayHold };
  }
  if (distribution !== undefined) return null;
  if (metric === 'throughput') {
    const perSecond = parseRate(bound, given, { min: 0, max: Number.MAX_SAFE_INTEGER });
    // The most that the run can come to.
    const mayHold = ({ sent, rest, shortestMs }: Progress, comparison: string) =>
      comparison.startsWith('<') ||
      shortestMs === 0 ||
      compare(((sent + rest) * 1000) / shortestMs, comparison, perSecond);
    const read = (result: LoadResult) => result.throughput.mean;
    return { read, format: rate, bound: perSecond, hasMinimum: true, mayHold };
  }
  if (metric === 'errors') {
    return countOrShare(failed, ({ errors, connectFailed }) => errors + connectFailed, bound);
  }
  if (metric === 'timeouts') {
    return countOrShare(
      ({ requests }) => requests.timeouts,
      ({ timeouts }) => timeouts,
      bound,
    );
  }
  return null;
}

/** Of shares such as 1 - 0.9: far below one sample. */
const ROUNDING = 1e-3;

/** The share of the samples that may be above the bound of a percentile, or of the longest; `null`: only the end tells. */
function findAllowedShare(point: string, quantile: number | null): number | null {
  if (point === 'max') return 0;
  return quantile === null ? null : 1 - quantile;
}

/** `p99_9` is 0.999. */
function readQuantile(point: string): number | null {
  const [, digits] = /^p([\d_]+)$/.exec(point) ?? [];
  return digits === undefined ? null : Number(digits.replace('_', '.')) / 100;
}

function countOrShare(
  number: (result: LoadResult) => number,
  soFar: (progress: Progress) => number,
  bound: string,
): Measure | null {
  const [, digits, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(bound) ?? [];
  if (digits === undefined) return null;
  // What is counted does not become less; its share is least if all that is still to come goes well.
  if (!percent) {
    const mayHold = (progress: Progress, comparison: string) =>
      compare(soFar(progress), comparison, Number(digits));
    return { read: number, format: rate, bound: Number(digits), mayHold };
  }
  const mayHold = (progress: Progress, comparison: string) => {
    const due = progress.sent + progress.connectFailed + progress.rest;
    const least = due === 0 ? 0 : soFar(progress) / due;
    return compare(least, comparison, Number(digits) / 100);
  };
  const read = (result: LoadResult) => {
    const { sent, notSent } = result.requests;
    const due = sent + notSent.connectFailed;
    return due === 0 ? null : number(result) / due;
  };
  return { read, format: share, bound: Number(digits) / 100, mayHold };
}

/** Requests with an error status, a transport error, a timeout, or without a connection. */
function failed({ requests }: LoadResult): number {
  const { statusErrors, transportErrors, timeouts, notSent } = requests;
  return statusErrors + transportErrors + timeouts + notSent.connectFailed;
}

function compare(value: number, comparison: string, bound: number): boolean {
  switch (comparison) {
    case '<':
      return value < bound;
    case '<=':
      return value <= bound;
    case '>':
      return value > bound;
    default:
      return value >= bound;
  }
}
