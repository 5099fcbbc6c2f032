// `--otlp`: the running figures are pushed to a collector while a load runs, and at its end.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { decodeDurations } from '#internal/statistics/durations.js';
import { inOneProcess } from '../../fixtures/cli/one-process.js';
import { startCollector } from '../../fixtures/otlp/collector.js';

const bin = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const inFolder = inOneProcess();
let server;
let url;

before(async () => {
  server = createServer((request, response) => {
    if (request.url === '/cut') return request.socket.destroy();
    response.writeHead(request.url === '/503' ? 503 : 200).end('ok');
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${server.address().port}`;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

/** Runs a load; its exit code, the result and what it wrote on stderr. */
function millrace(args, env = {}) {
  return new Promise((resolve) => {
    const all = [bin, ...args, '--json', '--no-progress'];
    const options = { env: { ...process.env, ...env }, timeout: 40_000 };
    execFile(process.execPath, all, options, (error, stdout, stderr) => {
      const result = stdout === '' ? null : JSON.parse(stdout);
      resolve({ code: error?.code ?? 0, result, stderr });
    });
  });
}

/** The points of a metric by their attributes but the name's. */
const byAttributes = (points, key) =>
  Object.fromEntries(points.map(({ attributes, value }) => [attributes[key], value]));

describe('--otlp', { timeout: 60_000, concurrency: 3 }, () => {
  test('pushes cumulative figures as the run goes on, and at the end those of the report', async (t) => {
    const collector = await startCollector(t);
    const paths = ['/users/17', '/503', '/cut'].map((path) => url + path);
    const { result, stderr } = await millrace(
      ['-d', '1500ms', '-c', '3', ...paths, '--otlp', collector.url],
      {
        OTEL_METRIC_EXPORT_INTERVAL: '300',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20bed,service.name=x',
        OTEL_SERVICE_NAME: 'own',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-key=secret',
      },
    );
    assert.equal(stderr, '');
    const { exports } = collector;
    assert.ok(exports.length >= 2, `${exports.length} exports`);
    for (const one of exports) {
      assert.equal(one.url, '/v1/metrics');
      assert.equal(one.headers['x-key'], 'secret');
      assert.equal(one.resource['service.name'], 'own');
      assert.equal(one.resource['deployment.environment.name'], 'test bed');
      const { 'http.client.request.duration': duration, 'millrace.requests': requests } =
        one.metrics;
      assert.deepEqual([duration.unit, duration.temporality], ['s', 2]);
      assert.deepEqual([requests.temporality, requests.isMonotonic], [2, true]);
      const counted = duration.points.reduce((sum, { count }) => sum + count, 0);
      const ended = requests.points.reduce((sum, { value }) => sum + value, 0);
      assert.equal(counted, ended);
      for (const { count, positive, zeroCount } of duration.points) {
        const inBuckets = positive.bucketCounts.reduce((sum, number) => sum + number, zeroCount);
        assert.equal(inBuckets, count);
      }
    }
    const counts = exports.map(({ metrics }) =>
      metrics['millrace.requests'].points.reduce((sum, { value }) => sum + value, 0),
    );
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
    );
    assert.ok(counts[0] < counts.at(-1));
    const starts = exports.map(
      ({ metrics }) => metrics['http.client.request.duration'].points[0].startTimeUnixNano,
    );
    assert.equal(new Set(starts).size, 1);
    // A busy machine may come late to it.
    assert.ok(Math.abs(starts[0] / 1e6 - result.startedAtMs) < 1000);

    const { metrics } = exports.at(-1);
    for (const { name, requests, statusCodes, errors, histograms } of result.byName) {
      const own = ({ attributes }) => attributes['millrace.request.name'] === name;
      const point = metrics['http.client.request.duration'].points.find(own);
      const ended = requests.sent - requests.inFlightAtEnd;
      assert.equal(point.count, ended);
      assert.equal(point.attributes['http.request.method'], 'GET');
      assert.equal(`GET ${point.attributes['url.template']}`, name);
      const ends = metrics['millrace.requests'].points.filter(own);
      const statuses = ends.filter(({ attributes }) => 'http.response.status_code' in attributes);
      assert.deepEqual(byAttributes(statuses, 'http.response.status_code'), statusCodes);
      const failed = ends.filter((one) => !statuses.includes(one));
      assert.deepEqual(
        byAttributes(failed, 'error.type'),
        Object.fromEntries(errors.map(({ kind, count }) => [kind, count])),
      );
      assertBuckets(point, histograms.latency, requests.inFlightAtEnd);
    }
    const [bad] = metrics['millrace.requests'].points.filter(
      ({ attributes }) => attributes['http.response.status_code'] === 503,
    );
    assert.equal(bad.attributes['error.type'], '503');
    assert.equal(metrics['http.client.active_requests'].points.length, 1);
  });

  test('of a run that is shorter than a window has its figures; a path of the URL stays', async (t) => {
    const collector = await startCollector(t);
    const { result } = await millrace([
      '-n',
      '7',
      '-c',
      '1',
      `${url}/`,
      '--otlp',
      `${collector.url}/own/path`,
    ]);
    const { metrics, url: path } = collector.exports.at(-1);
    assert.equal(path, '/own/path');
    assert.equal(metrics['http.client.request.duration'].points[0].count, 7);
    assert.equal(result.requests.ok, 7);
    assert.equal('millrace.iterations' in metrics, false);
  });

  test('beside --prometheus both have their own buckets', async (t) => {
    const collector = await startCollector(t);
    const { code } = await millrace([
      ...['-n', '7', '-c', '1', `${url}/`, '--otlp', collector.url],
      ...['--prometheus', '127.0.0.1:0'],
    ]);
    assert.equal(code, 0);
    const [{ count, positive }] =
      collector.exports.at(-1).metrics['http.client.request.duration'].points;
    assert.equal(count, 7);
    assert.equal(
      positive.bucketCounts.reduce((sum, number) => sum + number, 0),
      7,
    );
  });

  for (const { what, status, reason } of [
    { what: 'refuses', status: () => 400, reason: /status 400|Bad Request/ },
    { what: 'is not there', status: null, reason: /ECONNREFUSED/ },
  ]) {
    test(`a collector that ${what} is one warning, and the run goes on`, async (t) => {
      const collector = status && (await startCollector(t, status));
      const { code, result, stderr } = await millrace(
        ['-d', '900ms', `${url}/`, '--otlp', collector ? collector.url : 'http://127.0.0.1:1'],
        { OTEL_METRIC_EXPORT_INTERVAL: '200' },
      );
      assert.equal(code, 0);
      assert.ok(result.requests.ok > 0);
      const lines = stderr.trimEnd().split('\n');
      assert.equal(lines.length, 1, stderr);
      assert.match(
        lines[0],
        /^millrace: warning: --otlp: http:\S+\/v1\/metrics did not take the metrics: /,
      );
      assert.match(lines[0], reason);
      if (collector) assert.ok(collector.exports.length > 1);
    });
  }

  test('a URL that is none is refused', async () => {
    for (const value of ['localhost:4318', 'grpc://localhost', '4318']) {
      const { code, stderr } = await inFolder(`${url}/`, '--otlp', value);
      const line = `millrace: --otlp must be a URL such as http://localhost:4318 (got ${value})\n`;
      assert.deepEqual({ code, stderr }, { code: 2, stderr: line });
    }
  });
});

/** The times of a point lie in the buckets that the report's histogram says. */
function assertBuckets({ scale, positive }, encoded, inFlight) {
  const indexes = decodeDurations(encoded).values.flatMap(({ ms, count }) => {
    return { index: Math.ceil(Math.log2(ms / 1000) * 2 ** scale) - 1, count };
  });
  // A time beside a bound may lie on either side of it, as the report's histogram has three digits.
  const above = (index) =>
    indexes.reduce((sum, one) => sum + (one.index > index ? one.count : 0), 0);
  const of = (index) =>
    positive.bucketCounts.reduce(
      (sum, count, at) => sum + (positive.offset + at > index ? count : 0),
      0,
    );
  const total = above(Number.NEGATIVE_INFINITY);
  for (const at of positive.bucketCounts.keys()) {
    const index = positive.offset + at;
    assert.ok(Math.abs(above(index) - of(index)) <= inFlight + 1 + total / 20, `bucket ${index}`);
  }
}
