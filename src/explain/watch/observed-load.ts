import { packageVersion } from '../../environment/version.js';
import type { Distribution, LoadResult } from '../../load/result.js';
import { computeQuantileMs, type Durations } from '../../statistics/durations.js';
import { computeBucketMiddle } from '../../statistics/histogram.cjs';
import type { InsideView } from '../observe/types.js';

/** What a window shows of the requests that clients sent. */
export interface ObservedTraffic {
  /** `null` if no process is seen from inside. */
  inside: InsideView | null;
  startedAt: Date;
  durationMs: number;
  /** Mean number of connections of clients, and of those among them with a request that was not read yet. */
  connections: number;
  unread: number;
}

/** Statuses that clients cause, and of which the service is right: all but 5xx and 429 (Too Many Requests). */
const EXPECTED = ['100-428', '430-499'];
const RATE_LIMITED = 429;
const SERVER_ERROR = 500;

/**
 * Describes the requests of clients as the result of an open load, which the detectors of limits read. What only a load
 * generator can tell is empty, and the limits that need it are not evaluated.
 */
export function buildObservedLoad(traffic: ObservedTraffic): LoadResult {
  const { inside, startedAt, durationMs, connections, unread } = traffic;
  const { all, aborted, errorStatuses } = inside?.ended ?? {
    all: 0,
    aborted: 0,
    errorStatuses: {},
  };
  const answered = Math.max(0, all - aborted);
  const failed = Object.entries(errorStatuses).filter(([status]) => isError(Number(status)));
  const statusErrors = failed.reduce((sum, [, count]) => sum + count, 0);
  const latency = describeDurations(toDurations(inside), inside?.handlerMs ?? null);
  const meanInFlight = (inside?.inFlight ?? 0) + unread;
  const requests = {
    sent: all + Math.round(meanInFlight),
    followed: 0,
    ok: Math.max(0, answered - statusErrors),
    statusErrors,
    transportErrors: 0,
    timeouts: 0,
    inFlightAtEnd: Math.round(meanInFlight),
    notSent: { overflow: 0, queuedAtEnd: 0, connectFailed: 0 },
  };
  return {
    schemaVersion: 2,
    tool: { name: 'millrace', version: packageVersion() },
    plan: buildPlan(connections),
    startedAt: startedAt.toISOString(),
    startedAtMs: startedAt.getTime(),
    durationMs,
    setupMs: 0,
    interrupted: false,
    warmup: { durationMs: 0, requests: 0, completedLater: 0 },
    requests,
    unfinished: { atEnd: 0, succeeding: 0, timedOut: 0, headMs: null, bytes: 0 },
    throughput: { mean: (answered * 1000) / Math.max(1, durationMs), stdev: null },
    latencyMs: latency,
    serviceTimeMs: latency,
    ...{ gapMs: NO_TIMES, connectMs: NO_TIMES, tlsMs: NO_TIMES },
    connections: NO_CONNECTIONS,
    windowWaits: { requests: 0, totalMs: 0 },
    messages: 0,
    statusCodes: Object.fromEntries(failed),
    ...{ errors: [], failingResponses: [], series: [], byName: [], warnings: [] },
    bytes: { sent: 0, received: 0 },
    generator: NO_GENERATOR,
    meanInFlight,
    windowMs: 100,
    histograms: NO_HISTOGRAMS,
    sums: NO_SUMS,
    percentiles: { latency: [], serviceTime: [] },
    ...{ iterations: null, scenarios: [], steps: [], checks: null, metrics: {}, hooks: null },
  };
}

function isError(status: number): boolean {
  return status >= SERVER_ERROR || status === RATE_LIMITED;
}

/** Converts the times of the handlers to a distribution. */
export function toDurations(inside: InsideView | null): Durations {
  const values = Object.entries(inside?.handlerTimes ?? {})
    .map(([bucket, count]) => ({ bucket: Number(bucket), count }))
    .sort((a, b) => a.bucket - b.bucket)
    .map(({ bucket, count }) => ({ ms: computeBucketMiddle(bucket), count }));
  return { count: values.reduce((sum, { count }) => sum + count, 0), values };
}

function describeDurations(times: Durations, mean: number | null): Distribution {
  if (times.count === 0) return NO_TIMES;
  const quantile = (q: number) => computeQuantileMs(times, q);
  return {
    ...NO_TIMES,
    count: Math.round(times.count),
    mean,
    p50: quantile(0.5),
    p75: quantile(0.75),
    p90: quantile(0.9),
    p95: quantile(0.95),
    p99: quantile(0.99),
    p99_9: quantile(0.999),
    p99_99: quantile(0.9999),
    min: times.values[0]?.ms ?? null,
    max: times.values.at(-1)?.ms ?? null,
  };
}

function buildPlan(connections: number): LoadResult['plan'] {
  return {
    model: 'open',
    ...{ targets: [], connectionStages: [], localAddresses: [], stages: [], addresses: [] },
    order: 'in-turn',
    connections: Math.round(connections),
    initialConnections: Math.round(connections),
    ...{ threads: 0, pipelining: 1, follow: 0, thinkTimeMs: 0 },
    ...{ rate: null, arrivals: null, maxPending: null, durationMs: null, requests: null },
    warmupMs: 0,
    httpVersion: '1.1',
    connection: 'keep-alive',
    ...{ handshake: null, verifyCertificate: null },
    ...{ timeoutMs: 0, connectTimeoutMs: 0 },
    expect: EXPECTED,
    command: null,
    seed: 0,
  };
}

const NO_TIMES: Distribution = {
  ...{ count: 0, censored: 0, atLeast: {}, imprecise: {} },
  ...{ min: null, mean: null, stdev: null, p50: null, p75: null, p90: null, p95: null },
  ...{ p99: null, p99_9: null, p99_99: null, max: null },
};

const NO_CONNECTIONS: LoadResult['connections'] = {
  ...{ opened: 0, reused: 0, tlsFull: 0, tlsResumed: 0, failed: 0, broken: 0 },
  ...{ closedByServer: 0, unansweredOnReuse: 0, http1: 0, http2: 0, goaway: 0 },
  maxConcurrentStreams: null,
};

const NO_GENERATOR: LoadResult['generator'] = {
  ...{ busy: 0, starved: null, latenessMs: null, stalled: null, littleResidual: null },
  ...{ clientBound: false, reasons: [], workers: [] },
};

const NO_HISTOGRAMS: LoadResult['histograms'] = {
  unit: 'ns',
  ...{ latency: '', latencyCensored: '', serviceTime: '', serviceTimeCensored: '' },
  ...{ gap: '', gapCensored: '', connect: '', tls: '', lateness: null },
};

const NO_SUMS: LoadResult['sums'] = {
  unit: 'ns',
  ...{ latency: '0', serviceTime: '0', gap: '0', connect: '0', tls: '0' },
};
