import type { LoadSnapshot, NamedSnapshot } from '../../index.js';
import type { Attributes, DataPoint, HrTime, Metric } from './data.js';
import { buildHistogram } from './histogram.js';

/** A time span of figures, in milliseconds of Unix time. */
export interface Span {
  fromMs: number;
  toMs: number;
}

/**
 * Maps the state of a run to metrics, named after the semantic conventions for clients of HTTP where these have a name. All
 * are cumulative, from the start of the measurement.
 */
export function toMetrics(snapshot: LoadSnapshot, span: Span): Metric[] {
  const { byName = [], inFlight, iterations } = snapshot;
  const times = { startTime: toHrTime(span.fromMs), endTime: toHrTime(span.toMs) };
  const point = <Value>(value: Value, attributes: Attributes = {}): DataPoint<Value> => ({
    ...times,
    attributes,
    value,
  });
  const sum = (
    name: string,
    unit: string,
    description: string,
    dataPoints: DataPoint<number>[],
    isMonotonic = true,
  ): Metric => ({
    descriptor: { name, description, unit, valueType: 0 },
    ...{ aggregationTemporality: 1, dataPointType: 3, isMonotonic, dataPoints },
  });
  return [
    {
      descriptor: {
        name: 'http.client.request.duration',
        description: 'Duration of HTTP client requests, from the moment each was due.',
        ...{ unit: 's', valueType: 1 },
      },
      ...{ aggregationTemporality: 1, dataPointType: 1 },
      dataPoints: byName.map((one) =>
        point(buildHistogram(one.ended, one.latencySumMs, one.buckets), describeName(one)),
      ),
    },
    sum(
      'http.client.active_requests',
      '{request}',
      'Requests in flight.',
      [point(inFlight)],
      false,
    ),
    sum(
      'millrace.requests',
      '{request}',
      'Requests that have ended, by status or error.',
      byName.flatMap((one) =>
        listEnds(one).map(([count, ending]) => point(count, { ...describeName(one), ...ending })),
      ),
    ),
    sum(
      'millrace.requests.not_sent',
      '{request}',
      'Requests that were due but never sent, by cause.',
      byName.flatMap((one) =>
        listUnsent(one).map(([count, cause]) => point(count, { ...describeName(one), ...cause })),
      ),
    ),
    ...(iterations === undefined
      ? []
      : [
          sum('millrace.iterations', '{iteration}', 'Iterations of scenarios that have ended.', [
            point(iterations.completed, { 'millrace.outcome': 'completed' }),
            point(iterations.failed, { 'millrace.outcome': 'failed' }),
          ]),
          sum(
            'millrace.iterations.not_started',
            '{iteration}',
            'Iterations that were due while no user was free.',
            [point(iterations.notStarted)],
          ),
          sum(
            'millrace.iterations.active',
            '{iteration}',
            'Iterations in progress.',
            [point(iterations.inProgress)],
            false,
          ),
        ]),
  ];
}

/** Describes the requests of a name: a name that is a method and a path says both. */
function describeName({ name }: NamedSnapshot): Attributes {
  const [, method, path] = /^([A-Z]+) (\/\S*)$/.exec(name) ?? [];
  return {
    'millrace.request.name': name,
    ...(method !== undefined &&
      path !== undefined && { 'http.request.method': method, 'url.template': path }),
  };
}

type Counted = readonly [count: number, attributes: Attributes];

/** The first status of HTTP; those of gRPC are below it. */
const FIRST_HTTP_STATUS = 100;

/** The first status that is an error of a client's request. */
const FIRST_ERROR_STATUS = 400;

function listEnds({ statusCodes, errors }: NamedSnapshot): Counted[] {
  return [
    ...Object.entries(statusCodes).map(([status, count]): Counted => {
      return [count, describeStatus(Number(status))];
    }),
    ...errors.map(({ kind, count }): Counted => [count, { 'error.type': kind }]),
  ];
}

function describeStatus(status: number): Attributes {
  const isHttp = status >= FIRST_HTTP_STATUS;
  const isError = isHttp ? status >= FIRST_ERROR_STATUS : status > 0;
  return {
    [isHttp ? 'http.response.status_code' : 'rpc.grpc.status_code']: status,
    ...(isError && { 'error.type': String(status) }),
  };
}

function listUnsent({ notSent }: NamedSnapshot): Counted[] {
  const causes = {
    overflow: notSent.overflow,
    queued_at_end: notSent.queuedAtEnd,
    connect_failed: notSent.connectFailed,
  };
  return Object.entries(causes).map(([cause, count]) => [count, { 'millrace.cause': cause }]);
}

function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
