// What `--otlp` sends of a snapshot, and what it needs.
import assert from 'node:assert/strict';
import Module from 'node:module';
import { describe, test } from 'node:test';
import { buildHistogram, OTLP_BUCKETS_MS } from '#internal/cli/otlp/histogram.js';
import { toMetrics } from '#internal/cli/otlp/metrics.js';
import { pushMetrics } from '#internal/cli/otlp/push.js';
import { readResource } from '#internal/cli/otlp/resource.js';

/** The histogram of these times in seconds. */
function histogramOf(seconds) {
  const upTo = OTLP_BUCKETS_MS.map((ms) => seconds.filter((it) => it * 1000 <= ms).length);
  return buildHistogram(seconds.length, 1000 * seconds.reduce((sum, it) => sum + it, 0), upTo);
}

/** The bounds of each bucket that is not empty, with its count, by the definition of the data model. */
function bucketsOf({ scale, positive: { offset, bucketCounts } }) {
  const bound = (index) => 2 ** (index / 2 ** scale);
  return bucketCounts.flatMap((count, at) =>
    count > 0 ? [{ low: bound(offset + at), high: bound(offset + at + 1), count }] : [],
  );
}

describe('an exponential histogram', () => {
  test('has each time in the bucket that holds it', () => {
    for (const time of [1e-5, 0.001, 0.0123, 0.5, 0.9999, 1, 1.0001, 3, 100, 512]) {
      const [{ low, high, count }, ...others] = bucketsOf(histogramOf([time]));
      assert.equal(others.length, 0);
      assert.equal(count, 1);
      assert.ok(low < time && time <= high, `${time} in (${low}, ${high}]`);
      assert.ok(high / low < 1.2);
    }
  });

  test('counts what is out of range in the buckets at its ends, and holds nothing where there is nothing', () => {
    assert.deepEqual(
      bucketsOf(histogramOf([1e-7, 1000])).map(({ high, low }) => [high < 1e-5, low >= 512]),
      [
        [true, false],
        [false, true],
      ],
    );
    const empty = histogramOf([]);
    assert.deepEqual([empty.count, empty.sum, empty.positive.bucketCounts], [0, 0, []]);
    const several = histogramOf([0.001, 0.001, 4]);
    assert.deepEqual(
      bucketsOf(several).map(({ count }) => count),
      [2, 1],
    );
    assert.ok(Math.abs(several.sum - 4.002) < 1e-9);
  });
});

describe('metrics', () => {
  const snapshot = {
    ...{ phase: /** @type {const} */ ('measure'), elapsedMs: 100, completed: 3, errors: 1 },
    ...{ inFlight: 4, throughput: 1, p50Ms: 1, p99Ms: 1 },
    byName: [
      {
        ...{ name: 'list users', sent: 5, ok: 3, statusErrors: 1, transportErrors: 0, timeouts: 1 },
        notSent: { overflow: 1, queuedAtEnd: 2, connectFailed: 3 },
        ...{ bytesSent: 0, bytesReceived: 0, ended: 5, latencySumMs: 5 },
        statusCodes: { 0: 2, 5: 1, 200: 1 },
        errors: [{ kind: /** @type {const} */ ('timeout'), count: 1 }],
        buckets: OTLP_BUCKETS_MS.map(() => 5),
      },
    ],
    iterations: { started: 9, completed: 5, failed: 1, notStarted: 2, inProgress: 3, rate: 1 },
  };
  const metrics = toMetrics(snapshot, { fromMs: 1500.25, toMs: 2500.5 });
  const points = (name) => metrics.find(({ descriptor }) => descriptor.name === name).dataPoints;

  test('tell statuses of gRPC from those of HTTP, and errors from both', () => {
    const name = { 'millrace.request.name': 'list users' };
    assert.deepEqual(
      points('millrace.requests').map(({ value, attributes }) => [value, attributes]),
      [
        [2, { ...name, 'rpc.grpc.status_code': 0 }],
        [1, { ...name, 'rpc.grpc.status_code': 5, 'error.type': '5' }],
        [1, { ...name, 'http.response.status_code': 200 }],
        [1, { ...name, 'error.type': 'timeout' }],
      ],
    );
    assert.deepEqual(
      points('millrace.requests.not_sent').map(({ value, attributes }) => [
        value,
        attributes['millrace.cause'],
      ]),
      [
        [1, 'overflow'],
        [2, 'queued_at_end'],
        [3, 'connect_failed'],
      ],
    );
  });

  test('have the iterations of scenarios, and the time that they are of', () => {
    assert.deepEqual(
      points('millrace.iterations').map(({ value }) => value),
      [5, 1],
    );
    assert.equal(points('millrace.iterations.not_started')[0].value, 2);
    const [{ value, startTime, endTime }] = points('millrace.iterations.active');
    assert.deepEqual([value, startTime, endTime], [3, [1, 500_250_000], [2, 500_500_000]]);
    const without = toMetrics({ ...snapshot, iterations: undefined }, { fromMs: 0, toMs: 1 });
    assert.ok(without.every(({ descriptor }) => !descriptor.name.includes('iterations')));
  });
});

test('the resource is millrace, unless variables say otherwise', () => {
  const { 'service.name': name, 'service.version': version } = readResource({});
  assert.equal(name, 'millrace');
  assert.match(String(version), /^\d/);
  const own = readResource({ OTEL_RESOURCE_ATTRIBUTES: 'a=1%2C2, b = c ,broken,=x,d=%ff' });
  assert.deepEqual([own.a, own.b], ['1,2', 'c']);
  assert.equal('d' in own, false);
});

test('a line says which package is missing, and how to install it', (t) => {
  const modules = /** @type {any} */ (Module);
  const resolve = modules._resolveFilename;
  modules._resolveFilename = (name, ...rest) =>
    resolve(name.startsWith('@opentelemetry/') ? 'no-such-package' : name, ...rest);
  t.after(() => {
    modules._resolveFilename = resolve;
  });
  const name = '@opentelemetry/exporter-metrics-otlp-proto';
  assert.throws(() => pushMetrics('http://127.0.0.1:1/'), {
    code: 'ERR_MILLRACE_USAGE',
    message: `--otlp needs the package ${name}, which is not installed: npm install ${name}`,
  });
});
