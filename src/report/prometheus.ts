// The running figures of a load in Prometheus' text format.

import { packageVersion } from '../environment/version.js';
import { usageError } from '../errors/millrace-error.js';
import type { IterationSnapshot, LoadSnapshot, NamedSnapshot } from '../load/result.js';
import { isObject } from '../validation/shape.js';

/**
 * Bounds of the latency buckets in milliseconds, for the option `buckets` of the load: fixed, so that histograms of
 * different runs add up.
 */
export const PROMETHEUS_BUCKETS_MS: readonly number[] = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000,
];

/**
 * Formats a snapshot of a load in Prometheus' text format, version 0.0.4, as `--prometheus` serves it; `null`: none yet.
 * Throws a `MillraceError` (`ERR_MILLRACE_USAGE`) if it is no snapshot of a load with `PROMETHEUS_BUCKETS_MS`.
 *
 * @example
 * let newest = null;
 * createServer((_, response) => response.end(formatPrometheus(newest))).listen(9464);
 * for await (const snapshot of load({ url, buckets: [...PROMETHEUS_BUCKETS_MS] })) newest = snapshot;
 */
export function formatPrometheus(snapshot: LoadSnapshot | null): string {
  if (snapshot !== null) checkSnapshot(snapshot);
  return formatMetrics(toMetrics(snapshot, packageVersion()));
}

function checkSnapshot(snapshot: LoadSnapshot): void {
  if (!isObject(snapshot) || typeof snapshot.inFlight !== 'number') {
    throw usageError('the given value is not a snapshot of a load');
  }
  const { byName } = snapshot;
  const expected = PROMETHEUS_BUCKETS_MS.length;
  if (!Array.isArray(byName) || byName.some((one) => one?.buckets?.length !== expected)) {
    throw usageError(
      'Prometheus takes snapshots of a load with the option buckets: [...PROMETHEUS_BUCKETS_MS]',
    );
  }
}

/** A metric with its samples. */
interface MetricFamily {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  samples: Sample[];
}

/** A sample; `suffix` follows the name of the metric. */
interface Sample {
  suffix: string;
  labels: Record<string, string>;
  value: number;
}

/** Maps the state of a run to metrics; `null` before the first one. Times are in seconds. */
function toMetrics(snapshot: LoadSnapshot | null, version: string): MetricFamily[] {
  const names = snapshot?.byName ?? [];
  const ofNames = (toSamples: (one: NamedSnapshot) => Sample[]) => names.flatMap(toSamples);
  return [
    {
      name: 'millrace_build_info',
      help: 'Version of millrace.',
      type: 'gauge',
      samples: [toSample(1, { version })],
    },
    {
      name: 'millrace_requests_sent_total',
      help: 'Requests sent, those of the warm-up excluded.',
      type: 'counter',
      samples: ofNames(({ name, sent }) => [toSample(sent, { name })]),
    },
    {
      name: 'millrace_requests_total',
      help: 'Requests that have ended, by outcome.',
      type: 'counter',
      samples: ofNames(listOutcomes),
    },
    {
      name: 'millrace_requests_not_sent_total',
      help: 'Requests that were due but never sent, by cause.',
      type: 'counter',
      samples: ofNames(listUnsent),
    },
    {
      name: 'millrace_sent_bytes_total',
      help: 'Bytes of HTTP of the requests that were sent.',
      type: 'counter',
      samples: ofNames(({ name, bytesSent }) => [toSample(bytesSent, { name })]),
    },
    {
      name: 'millrace_received_bytes_total',
      help: 'Bytes of HTTP of the responses that have ended.',
      type: 'counter',
      samples: ofNames(({ name, bytesReceived }) => [toSample(bytesReceived, { name })]),
    },
    {
      name: 'millrace_request_duration_seconds',
      help: 'Latency from the moment a request was due.',
      type: 'histogram',
      samples: ofNames(listBuckets),
    },
    {
      name: 'millrace_requests_in_flight',
      help: 'Requests in flight.',
      type: 'gauge',
      samples: snapshot ? [toSample(snapshot.inFlight, {})] : [],
    },
    ...listIterationMetrics(snapshot),
  ];
}

/** Maps the iterations of a run of scenarios to metrics; without scenarios they have no sample. */
function listIterationMetrics(snapshot: LoadSnapshot | null): MetricFamily[] {
  const iterations = snapshot?.iterations;
  const ofIterations = (toSamples: (one: IterationSnapshot) => Sample[]) =>
    iterations === undefined ? [] : toSamples(iterations);
  return [
    {
      name: 'millrace_iterations_started_total',
      help: 'Iterations of scenarios that began, those of the warm-up excluded.',
      type: 'counter',
      samples: ofIterations(({ started }) => [toSample(started, {})]),
    },
    {
      name: 'millrace_iterations_total',
      help: 'Iterations of scenarios that have ended, by outcome.',
      type: 'counter',
      samples: ofIterations(({ completed, failed }) => [
        toSample(completed, { outcome: 'completed' }),
        toSample(failed, { outcome: 'failed' }),
      ]),
    },
    {
      name: 'millrace_iterations_not_started_total',
      help: 'Iterations of scenarios that were due while no user was free.',
      type: 'counter',
      samples: ofIterations(({ notStarted }) => [toSample(notStarted, {})]),
    },
    {
      name: 'millrace_iterations_in_progress',
      help: 'Iterations of scenarios in progress: users at work.',
      type: 'gauge',
      samples: ofIterations(({ inProgress }) => [toSample(inProgress, {})]),
    },
  ];
}

function toSample(value: number, labels: Sample['labels'], suffix = ''): Sample {
  return { suffix, labels, value };
}

function listOutcomes(one: NamedSnapshot): Sample[] {
  const { name, ok, statusErrors, transportErrors, timeouts } = one;
  const outcomes = {
    ok,
    status_error: statusErrors,
    transport_error: transportErrors,
    timeout: timeouts,
  };
  return Object.entries(outcomes).map(([outcome, value]) => toSample(value, { name, outcome }));
}

function listUnsent({ name, notSent }: NamedSnapshot): Sample[] {
  const causes = {
    overflow: notSent.overflow,
    queued_at_end: notSent.queuedAtEnd,
    connect_failed: notSent.connectFailed,
  };
  return Object.entries(causes).map(([cause, value]) => toSample(value, { name, cause }));
}

function listBuckets({ name, ended, latencySumMs, buckets }: NamedSnapshot): Sample[] {
  const bounded = PROMETHEUS_BUCKETS_MS.map((ms, index) =>
    toSample(buckets[index] ?? 0, { name, le: String(ms / 1000) }, '_bucket'),
  );
  return [
    ...bounded,
    toSample(ended, { name, le: '+Inf' }, '_bucket'),
    toSample(latencySumMs / 1000, { name }, '_sum'),
    toSample(ended, { name }, '_count'),
  ];
}

/** Formats metrics in Prometheus' text format, version 0.0.4. A metric without a sample is left out. */
function formatMetrics(families: readonly MetricFamily[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, help, type, samples }) => {
      const lines = samples.map(
        ({ suffix, labels, value }) => `${name}${suffix}${formatLabels(labels)} ${value}\n`,
      );
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
    })
    .join('');
}

function formatLabels(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

function escapeLabel(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}
