// Metrics of requests: times, throughput, errors and timeouts.
import { rate, share, time } from '../../format/units.js';
import { hasDurationUnit, parseDuration, parseRate } from '../../validation/units.js';
import { isAnswered } from '../answered.js';
import { type ConditionSubject, countUnsuccessful, selectSubject } from './condition-subject.js';
import {
  compare,
  findPoint,
  type Measure,
  type Progress,
  type Reading,
  ROUNDING,
  readNumberOrShare,
  readQuantile,
} from './measure.js';

const DISTRIBUTIONS = {
  latency: 'latencyMs',
  service: 'serviceTimeMs',
  connect: 'connectMs',
  tls: 'tlsMs',
} as const;

/** Reads a metric of requests with its bound; `null` if it is none. */
export function readRequestMeasure(
  metric: string,
  distribution: string | undefined,
  bound: string,
  option: string,
): Measure | null {
  if (findPoint(metric)) return readTime(metric, distribution, bound, option);
  if (distribution !== undefined) return null;
  if (metric === 'throughput') return readThroughput(bound, option);
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

/** Makes a reading of the requests that a condition is about. */
function readOf(
  readValue: (subject: ConditionSubject) => number | null,
  isAtLeast: (subject: ConditionSubject) => boolean = () => false,
): Measure['read'] {
  return (result, name): Reading => {
    const subject = selectSubject(result, name);
    return {
      value: readValue(subject),
      isAtLeast: isAtLeast(subject),
      isUnanswered: !isAnswered(subject),
    };
  };
}

function readTime(
  metric: string,
  distribution: string | undefined,
  bound: string,
  option: string,
): Measure | null {
  const point = findPoint(metric);
  const key = DISTRIBUTIONS[(distribution ?? 'latency') as keyof typeof DISTRIBUTIONS];
  if (point === undefined || key === undefined || !hasDurationUnit(bound)) return null;
  const ms = parseDuration(bound, option);
  const quantile = readQuantile(point);
  const isWatched = key === 'latencyMs' || key === 'serviceTimeMs';
  const maxShareAbove = isWatched ? findAllowedShare(point, quantile) : null;
  const measure: Measure = {
    topic: 'requests',
    read: readOf(
      (subject) => subject[key]?.[point] ?? null,
      (subject) => point !== 'min' && point in (subject[key]?.atLeast ?? {}),
    ),
    format: time,
    bound: ms,
    boundMs: ms,
    quantile,
    ofServiceTime: key === 'serviceTimeMs',
  };
  if (maxShareAbove === null) return measure;
  // No request may be above the bound of `max`, however many there are: avoids 0 times infinity.
  const allowed = (samples: number) => (maxShareAbove === 0 ? 0 : maxShareAbove * samples);
  const canHold = ({ above, sent, rest }: Progress) => above <= allowed(sent + rest) + ROUNDING;
  return { ...measure, canHold };
}

function readThroughput(bound: string, option: string): Measure {
  const perSecond = parseRate(bound, option, { min: 0, max: Number.MAX_SAFE_INTEGER });
  // The maximum throughput that the run can still reach.
  const canHold = ({ sent, rest, shortestMs }: Progress, comparison: string) =>
    comparison.startsWith('<') ||
    shortestMs === 0 ||
    compare(((sent + rest) * 1000) / shortestMs, comparison, perSecond);
  const read = readOf((subject) => subject.throughput.mean);
  return { topic: 'requests', read, format: rate, bound: perSecond, accepts: 'both', canHold };
}

/** Finds the share of the samples that may be above the bound of a percentile or of `max`; `null` if only the end decides. */
function findAllowedShare(point: string, quantile: number | null): number | null {
  if (point === 'max') return 0;
  return quantile === null ? null : 1 - quantile;
}

/** Reads a bound on a number of requests (`10`) or on their share (`1%`); `null` if it is neither. */
function readCountOrShare(
  countAtEnd: (subject: ConditionSubject) => number,
  countSoFar: (progress: Progress) => number,
  bound: string,
): Measure | null {
  const limit = readNumberOrShare(bound);
  if (limit === null) return null;
  const { value, isShare } = limit;
  // A count never decreases; the share is lowest if all further requests go well.
  if (!isShare) {
    const canHold = (progress: Progress, comparison: string) =>
      compare(countSoFar(progress), comparison, value);
    return { topic: 'requests', read: readOf(countAtEnd), format: rate, bound: value, canHold };
  }
  const canHold = (progress: Progress, comparison: string) => {
    const due = progress.sent + progress.connectFailed + progress.rest;
    const minShare = due === 0 ? 0 : countSoFar(progress) / due;
    return compare(minShare, comparison, value);
  };
  const read = readOf((subject) => {
    const { sent, notSent } = subject.requests;
    const due = sent + notSent.connectFailed;
    return due === 0 ? null : countAtEnd(subject) / due;
  });
  return { topic: 'requests', read, format: share, bound: value, canHold };
}
