import { usageError } from '../../errors/millrace-error.js';
import { rate, share, time } from '../../format/units.js';
import { hasDurationUnit, parseDuration, parseRate } from '../../validation/units.js';
import { isAnswered } from '../answered.js';
import type { Distribution, LoadResult } from '../result.js';
import {
  type ConditionSubject,
  countUnsuccessful,
  selectSubject,
  splitConditionName,
} from './condition-subject.js';

/** The progress of a run that conditions are checked against. */
export interface Progress {
  sent: number;
  /** Requests that were due and had no connection, as it could not be opened. */
  connectFailed: number;
  /** Status errors, transport errors and timeouts. */
  errors: number;
  timeouts: number;
  /** Samples above the condition's time bound. */
  above: number;
  /** Maximum number of requests that may still be sent. */
  rest: number;
  /** The shortest length that the run may have. */
  shortestMs: number;
}

/** A condition that a result must fulfil. */
export interface Condition {
  /** The condition as the user wrote it. */
  text: string;
  /** The name of the requests that it is about; `null`: all requests. */
  name: string | null;
  /** Returns `null` if the condition holds, else the measured value in words. */
  failure(result: LoadResult): string | null;
  /** Puts the measured value into words. */
  describe(result: LoadResult): string;
  /** Returns the value that is compared with the bound: milliseconds, a number, or a share; `null` without a sample. */
  measured(result: LoadResult): number | null;
  /** The bound, in the unit of `measured`. */
  bound: number;
  /** The name of the metric: `p99`, `errors`, ... */
  metric: string;
  /** The quantile of a percentile, from 0 to 1; `null` for another metric. */
  quantile: number | null;
  /** The bound in milliseconds; `null` if the metric is not a time. */
  boundMs: number | null;
  /** Whether the time is the service time, not the latency. */
  ofServiceTime: boolean;
  /** Whether the condition cannot hold at the end of the run, even if all further requests go well. */
  isViolated(progress: Progress): boolean;
}

/** The syntax of a condition; upper and lower case are the same. */
const SYNTAX = /^(?:(latency|service|connect|tls)\.)?([a-z0-9_.-]+)\s*(<=|>=|<|>)\s*(\S+)$/i;
const EXAMPLES =
  "'p99<50ms', 'service.p99.9<=1s', 'max<2s', 'errors<1%', 'errors<=10', 'timeouts<1', 'throughput>1000' or, of one request name, 'list users: p99<50ms'";

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

/**
 * Parses a condition that must hold, such as `p99<50ms` or, of the requests with one name, `list users: p99<50ms`; `option`
 * is the name of its option or flag.
 */
export function parseCondition(text: string, option: string): Condition {
  const { name, condition } = splitConditionName(text);
  const [, distribution, metric = '', comparison = '', bound = ''] =
    SYNTAX.exec(condition.trim()) ?? [];
  const measure = readMeasure(metric.toLowerCase(), distribution?.toLowerCase(), bound, option);
  const suggest = () => {
    // A name may end with a colon alone, which is none: 'list users:p99<5s'.
    const [, begun, rest = ''] = (name === null && /^(.*\S):(\S.*)$/.exec(text)) || [];
    const prefix = name ?? begun?.trim();
    const suggestion = suggestCondition(begun === undefined ? condition : rest);
    return suggestion && (prefix === undefined ? suggestion : `${prefix}: ${suggestion}`);
  };
  if (!measure) {
    if (/\sratio\s*[<>]/i.test(condition)) {
      throw usageError(
        `${option}: a ratio is a condition of millrace compare, or compare() (got '${text}')`,
      );
    }
    const meant = suggest();
    throw usageError(
      meant === null
        ? `${option} must be a condition such as ${EXAMPLES} (got '${text}')`
        : `${option} must be a condition (got '${text}'): write '${meant}'`,
    );
  }
  if (!measure.hasMinimum && comparison.startsWith('>')) {
    throw usageError(`${option} says what must hold: write '${suggest()}'`);
  }
  if (name !== null && /^(connect|tls)$/i.test(distribution ?? '')) {
    throw usageError(
      `${option}: connections are of the whole run, not of '${name}' (got '${text}')`,
    );
  }
  const { quantile = null, boundMs = null } = measure;
  return {
    text,
    name,
    metric: metric.toLowerCase(),
    quantile,
    boundMs,
    measured: (result) => measure.read(selectSubject(result, name)),
    bound: measure.bound,
    ofServiceTime: measure.ofServiceTime ?? false,
    isViolated: (progress) => !(measure.canHold?.(progress, comparison) ?? true),
    describe: (result) => describeMeasured(measure, selectSubject(result, name)),
    failure(result) {
      const subject = selectSubject(result, name);
      // A count of errors of nothing is no success.
      if (!isAnswered(subject)) return 'no response came';
      const value = measure.read(subject);
      if (value === null) return 'there is no sample';
      // The true value may be above a lower bound: that it is below a maximum is not proven.
      const atLeast = measure.isAtLeast?.(subject) ?? false;
      if (!atLeast && compare(value, comparison, measure.bound)) return null;
      return `it is ${describeMeasured(measure, subject)}`;
    },
  };
}

function describeMeasured(measure: Measure, subject: ConditionSubject): string {
  const value = measure.read(subject);
  if (!isAnswered(subject)) return 'without a response';
  if (value === null) return 'without a sample';
  return `${measure.isAtLeast?.(subject) ? 'at least ' : ''}${measure.format(value)}`;
}

/** Names of the metrics in other tools. */
const OTHER_NAMES: Record<string, string> = {
  ...{ avg: 'mean', average: 'mean', med: 'p50', median: 'p50', std: 'stdev', stddev: 'stdev' },
  ...{ error: 'errors', error_rate: 'errors', failed: 'errors', failures: 'errors' },
  ...{ http_req_failed: 'errors', timeout: 'timeouts' },
  ...{ rps: 'throughput', qps: 'throughput', rate: 'throughput', http_reqs: 'throughput' },
};

const LOOSE_SYNTAX =
  /^((?:latency|service|connect|tls)\.)?([^<>=\s]+)\s*(<=|>=|===?|=|<|>)\s*(\S+)$/i;

/** Suggests a condition for one in the syntax of another tool, or with the opposite comparison; `null` if there is none. */
function suggestCondition(text: string): string | null {
  const [, distribution = '', name = '', sign = '', bound = ''] =
    LOOSE_SYNTAX.exec(text.trim().toLowerCase()) ?? [];
  const metricName = name.replace(/^p\(?([\d.]+)\)?$/, 'p$1');
  const metric = OTHER_NAMES[metricName] ?? metricName;
  const isTime = POINTS.some((point) => point === metric.replace('.', '_'));
  const unit = isTime && /^[\d.]+$/.test(bound) ? 'ms' : '';
  const comparison = metric === 'throughput' ? toMinimumSign(sign) : toMaximumSign(sign);
  // A share in k6, where it is a count here.
  const isShare = metricName === 'http_req_failed' && Number(bound) <= 1;
  const limit = isShare ? `${Number((Number(bound) * 100).toPrecision(6))}%` : bound;
  const suggestion = `${distribution}${metric}${comparison}${limit}${unit}`;
  const [, ...parts] = SYNTAX.exec(suggestion) ?? [];
  try {
    return readMeasure(parts[1] ?? '', parts[0], parts[3] ?? '', '') && suggestion;
  } catch {
    return null; // The bound is neither a duration nor a rate.
  }
}

/** Turns a comparison, also one that must not hold, into the comparison with a maximum that must hold. */
function toMaximumSign(sign: string): string {
  if (sign === '>=') return '<';
  return sign === '<' ? '<' : '<=';
}

/** Turns a comparison into the comparison with a minimum. */
function toMinimumSign(sign: string): string {
  return sign.startsWith('=') ? '>=' : sign;
}

/** A metric of a result and the bound that it is compared with. */
interface Measure {
  read(subject: ConditionSubject): number | null;
  /** Whether the value is a lower bound. */
  isAtLeast?(subject: ConditionSubject): boolean;
  format(value: number): string;
  bound: number;
  quantile?: number | null;
  boundMs?: number;
  ofServiceTime?: boolean;
  /** Whether a minimum is accepted; the other metrics accept a maximum only. */
  hasMinimum?: boolean;
  /** Whether the comparison can still hold at the end; absent if this is known only at the end. */
  canHold?(progress: Progress, comparison: string): boolean;
}

function readMeasure(
  metric: string,
  distribution: string | undefined,
  bound: string,
  name: string,
): Measure | null {
  const point = POINTS.find((point) => point === metric.replace('.', '_'));
  if (point) {
    if (!hasDurationUnit(bound)) return null;
    const key = DISTRIBUTIONS[(distribution ?? 'latency') as keyof typeof DISTRIBUTIONS];
    const ms = parseDuration(bound, name);
    const read = (subject: ConditionSubject) => subject[key]?.[point] ?? null;
    const isAtLeast = (subject: ConditionSubject) =>
      point !== 'min' && point in (subject[key]?.atLeast ?? {});
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
    // No request may be above the bound of `max`, however many there are: avoids 0 times infinity.
    const allowed = (samples: number) => (maxShareAbove === 0 ? 0 : maxShareAbove * samples);
    const canHold = ({ above, sent, rest }: Progress) => above <= allowed(sent + rest) + ROUNDING;
    return { ...measure, canHold };
  }
  if (distribution !== undefined) return null;
  if (metric === 'throughput') {
    const perSecond = parseRate(bound, name, { min: 0, max: Number.MAX_SAFE_INTEGER });
    // The maximum throughput that the run can still reach.
    const canHold = ({ sent, rest, shortestMs }: Progress, comparison: string) =>
      comparison.startsWith('<') ||
      shortestMs === 0 ||
      compare(((sent + rest) * 1000) / shortestMs, comparison, perSecond);
    const read = (subject: ConditionSubject) => subject.throughput.mean;
    return { read, format: rate, bound: perSecond, hasMinimum: true, canHold };
  }
  if (metric === 'errors') {
    return readCountOrShare(
      countUnsuccessful,
      ({ errors, connectFailed }) => errors + connectFailed,
      bound,
    );
  }
  if (metric === 'timeouts') {
    return readCountOrShare(
      ({ requests }) => requests.timeouts,
      ({ timeouts }) => timeouts,
      bound,
    );
  }
  return null;
}

/** Tolerance for rounding errors of shares such as 1 - 0.9, in samples. */
const ROUNDING = 1e-3;

/** Finds the share of the samples that may be above the bound of a percentile or of `max`; `null` if only the end decides. */
function findAllowedShare(point: string, quantile: number | null): number | null {
  if (point === 'max') return 0;
  return quantile === null ? null : 1 - quantile;
}

/** Reads the quantile of a percentile's name: 0.999 of `p99_9`. */
function readQuantile(point: string): number | null {
  const [, digits] = /^p([\d_]+)$/.exec(point) ?? [];
  return digits === undefined ? null : Number(digits.replace('_', '.')) / 100;
}

/** Reads a bound on a number of requests (`10`) or on their share (`1%`); `null` if it is neither. */
function readCountOrShare(
  countAtEnd: (subject: ConditionSubject) => number,
  countSoFar: (progress: Progress) => number,
  bound: string,
): Measure | null {
  const [, digits, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(bound) ?? [];
  if (digits === undefined) return null;
  // A count never decreases; the share is lowest if all further requests go well.
  if (!percent) {
    const canHold = (progress: Progress, comparison: string) =>
      compare(countSoFar(progress), comparison, Number(digits));
    return { read: countAtEnd, format: rate, bound: Number(digits), canHold };
  }
  const canHold = (progress: Progress, comparison: string) => {
    const due = progress.sent + progress.connectFailed + progress.rest;
    const minShare = due === 0 ? 0 : countSoFar(progress) / due;
    return compare(minShare, comparison, Number(digits) / 100);
  };
  const read = (subject: ConditionSubject) => {
    const { sent, notSent } = subject.requests;
    const due = sent + notSent.connectFailed;
    return due === 0 ? null : countAtEnd(subject) / due;
  };
  return { read, format: share, bound: Number(digits) / 100, canHold };
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
