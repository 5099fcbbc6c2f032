import { usageError } from '../../errors/millrace-error.js';
import type { LoadResult } from '../result.js';
import { splitConditionName } from './condition-subject.js';
import {
  type ConditionTopic,
  compare,
  findPoint,
  type Measure,
  type Progress,
  type Reading,
} from './measure.js';
import { readRequestMeasure } from './request-measures.js';
import { readOwnMetric, readScenarioMeasure } from './scenario-measures.js';

/** A condition that a result must fulfil. */
export interface Condition {
  /** The condition as the user wrote it. */
  text: string;
  /** What it is about. */
  topic: ConditionTopic;
  /** The name of the requests, or of the scenario, that it is about; `null`: all. */
  name: string | null;
  /** Returns `null` if the condition holds, else the measured value in words. */
  failure(result: LoadResult): string | null;
  /** Puts the measured value into words. */
  describe(result: LoadResult): string;
  /** Returns the value that is compared with the bound: milliseconds, a number, or a share; `null` without a sample. */
  measured(result: LoadResult): number | null;
  /** Formats a value of `measured`. */
  format(value: number): string;
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
  /** Whether the progress of a run tells nothing of its metric. */
  isOfEndAlone: boolean;
}

/** The syntax of a condition; upper and lower case are the same. */
const SYNTAX =
  /^(?:(latency|service|connect|tls|iteration|active)\.)?([a-z0-9_.-]+)\s*(<=|>=|<|>)\s*(\S+)$/i;
const EXAMPLES =
  "'p99<50ms', 'service.p99.9<=1s', 'max<2s', 'errors<1%', 'errors<=10', 'timeouts<1', 'throughput>1000' or, of one request name, 'list users: p99<50ms'; of scenarios 'checks>99%', 'iteration.p95<2s', 'iterations.failed<1%', 'iterations>1000'";

/**
 * Parses a condition that must hold, such as `p99<50ms` or, of the requests with one name, `list users: p99<50ms`; `option`
 * is the name of its option or flag.
 */
export function parseCondition(text: string, option: string): Condition {
  const { name, condition } = splitConditionName(text);
  const { metric, distribution, comparison, measure } = readCondition(condition.trim(), option);
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
  const { accepts = 'maximum' } = measure;
  if (accepts !== 'both' && comparison.startsWith('>') !== (accepts === 'minimum')) {
    throw usageError(`${option} says what must hold: write '${suggest()}'`);
  }
  if (name !== null) refuseName(name, { measure, distribution, option, text });
  const { quantile = null, boundMs = null } = measure;
  return {
    text,
    topic: measure.topic,
    name,
    metric,
    quantile,
    boundMs,
    measured: (result) => measure.read(result, name).value,
    format: measure.format,
    bound: measure.bound,
    ofServiceTime: measure.ofServiceTime ?? false,
    isViolated: (progress) => !(measure.canHold?.(progress, comparison) ?? true),
    // It has no numbers by scenario.
    isOfEndAlone: measure.topic !== 'requests' && (!measure.canHold || name !== null),
    describe: (result) => describeReading(measure.read(result, name), measure),
    failure(result) {
      const reading = measure.read(result, name);
      // A count of errors of nothing is no success.
      if (reading.isUnanswered) return 'no response came';
      const { value, isAtLeast = false } = reading;
      if (value === null) return 'there is no sample';
      // The true value may be above a lower bound: that it is below a maximum is not proven.
      if (!isAtLeast && compare(value, comparison, measure.bound)) return null;
      return `it is ${describeReading(reading, measure)}`;
    },
  };
}

/** The parts of a condition without its name; `measure` is `null` where it is not one. */
interface ConditionParts {
  metric: string;
  distribution: string | undefined;
  comparison: string;
  measure: Measure | null;
}

function readCondition(condition: string, option: string): ConditionParts {
  const own = readOwnMetric(condition, option);
  if (own) return { ...own, distribution: undefined };
  const [, ofTimes, word = '', comparison = '', bound = ''] = SYNTAX.exec(condition) ?? [];
  const [metric, distribution] = [word.toLowerCase(), ofTimes?.toLowerCase()];
  const measure = readMeasure(metric, distribution, bound, option);
  return { metric, distribution, comparison, measure };
}

function readMeasure(
  metric: string,
  distribution: string | undefined,
  bound: string,
  option: string,
): Measure | null {
  return (
    readRequestMeasure(metric, distribution, bound, option) ??
    readScenarioMeasure(metric, distribution, bound, option)
  );
}

/** Refuses a name where a metric is of the whole run. */
function refuseName(
  name: string,
  {
    measure,
    distribution,
    option,
    text,
  }: Record<'option' | 'text', string> & {
    measure: Measure;
    distribution: string | undefined;
  },
): void {
  if (distribution === 'connect' || distribution === 'tls') {
    throw usageError(
      `${option}: connections are of the whole run, not of '${name}' (got '${text}')`,
    );
  }
  if (measure.topic === 'metrics') {
    throw usageError(
      `${option}: metrics of scenarios are of the whole run, not of '${name}' (got '${text}')`,
    );
  }
}

function describeReading({ value, isAtLeast, isUnanswered }: Reading, { format }: Measure): string {
  if (isUnanswered) return 'without a response';
  if (value === null) return 'without a sample';
  return `${isAtLeast ? 'at least ' : ''}${format(value)}`;
}

/** Names of the metrics in other tools. */
const OTHER_NAMES: Record<string, string> = {
  ...{ avg: 'mean', average: 'mean', med: 'p50', median: 'p50', std: 'stdev', stddev: 'stdev' },
  ...{ error: 'errors', error_rate: 'errors', failed: 'errors', failures: 'errors' },
  ...{ http_req_failed: 'errors', timeout: 'timeouts' },
  ...{ rps: 'throughput', qps: 'throughput', rate: 'throughput', http_reqs: 'throughput' },
  ...{ check: 'checks', 'iterations.completed': 'iterations', iteration: 'iterations' },
  ...{ dropped_iterations: 'iterations.notStarted', 'iterations.dropped': 'iterations.notStarted' },
};

/** Metrics that have a minimum or a maximum. */
const EITHER = ['throughput', 'iterations', 'iterations.rate'];

const LOOSE_SYNTAX =
  /^((?:latency|service|connect|tls|iteration|active)\.)?([^<>=\s]+)\s*(<=|>=|===?|=|<|>)\s*(\S+)$/i;

/** Suggests a condition for one in the syntax of another tool, or with the opposite comparison; `null` if there is none. */
function suggestCondition(text: string): string | null {
  const [, distribution = '', name = '', sign = '', bound = ''] =
    LOOSE_SYNTAX.exec(text.trim().toLowerCase()) ?? [];
  const metricName = name.replace(/^p\(?([\d.]+)\)?$/, 'p$1');
  const metric = OTHER_NAMES[metricName] ?? metricName;
  const unit = findPoint(metric) && /^[\d.]+$/.test(bound) ? 'ms' : '';
  const comparison = toSignThatHolds(metric, sign);
  // A share in k6, where it is a count here.
  const isShare = ['http_req_failed', 'checks'].includes(metricName) && Number(bound) <= 1;
  const limit = isShare ? `${Number((Number(bound) * 100).toPrecision(6))}%` : bound;
  const suggestion = `${distribution}${metric}${comparison}${limit}${unit}`;
  const [, ...parts] = SYNTAX.exec(suggestion) ?? [];
  try {
    return readMeasure((parts[1] ?? '').toLowerCase(), parts[0], parts[3] ?? '', '') && suggestion;
  } catch {
    return null; // The bound is neither a duration nor a rate.
  }
}

/** Turns a comparison, also one that must not hold, into one that the metric accepts. */
function toSignThatHolds(metric: string, sign: string): string {
  if (EITHER.includes(metric)) return sign.startsWith('=') ? '>=' : sign;
  const [accepted, opposite] = metric === 'checks' ? ['>', '<'] : ['<', '>'];
  if (sign === `${opposite}=`) return accepted;
  return sign === accepted ? accepted : `${accepted}=`;
}
