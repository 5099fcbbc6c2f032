// The running figures in Prometheus' text format.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatPrometheus, PROMETHEUS_BUCKETS_MS } from 'millrace/report';
import { packageVersion } from '#internal/environment/version.js';

const buckets = PROMETHEUS_BUCKETS_MS.map((_, index) => index * 10);

function snapshot(name = 'GET /') {
  const counts = { sent: 200, ok: 180, statusErrors: 5, transportErrors: 3, timeouts: 2 };
  return {
    phase: 'measure',
    elapsedMs: 1000,
    completed: 190,
    errors: 10,
    inFlight: 10,
    throughput: 190,
    p50Ms: 1,
    p99Ms: 2,
    byName: [
      {
        name,
        ...counts,
        notSent: { overflow: 3, queuedAtEnd: 4, connectFailed: 0 },
        bytesSent: 2000,
        bytesReceived: 30_000,
        ended: 190,
        latencySumMs: 1500,
        buckets,
      },
    ],
  };
}

const format = (state) => formatPrometheus(state).split('\n');
const info = `millrace_build_info{version="${packageVersion()}"} 1`;

describe('metrics of a run', () => {
  test('of scenarios count iterations, and a load without them has none', () => {
    const iterations = { started: 50, completed: 40, failed: 2, notStarted: 3, inProgress: 8 };
    const lines = format({ ...snapshot(), iterations: { ...iterations, rate: 9 } });
    for (const line of [
      'millrace_iterations_started_total 50',
      'millrace_iterations_total{outcome="completed"} 40',
      'millrace_iterations_total{outcome="failed"} 2',
      'millrace_iterations_not_started_total 3',
      'millrace_iterations_in_progress 8',
    ]) {
      assert.ok(lines.includes(line), `${line}\n${lines.join('\n')}`);
    }
    assert.doesNotMatch(format(snapshot()).join('\n'), /iterations/);
  });

  test('are counters by name and outcome, and a histogram in seconds', () => {
    const lines = format(snapshot());
    for (const line of [
      '# TYPE millrace_requests_total counter',
      info,
      'millrace_requests_sent_total{name="GET /"} 200',
      'millrace_requests_total{name="GET /",outcome="ok"} 180',
      'millrace_requests_total{name="GET /",outcome="timeout"} 2',
      'millrace_requests_not_sent_total{name="GET /",cause="overflow"} 3',
      'millrace_requests_not_sent_total{name="GET /",cause="queued_at_end"} 4',
      'millrace_received_bytes_total{name="GET /"} 30000',
      '# TYPE millrace_request_duration_seconds histogram',
      'millrace_request_duration_seconds_bucket{name="GET /",le="0.001"} 30',
      'millrace_request_duration_seconds_bucket{name="GET /",le="+Inf"} 190',
      'millrace_request_duration_seconds_sum{name="GET /"} 1.5',
      'millrace_request_duration_seconds_count{name="GET /"} 190',
      'millrace_requests_in_flight 10',
    ]) {
      assert.ok(lines.includes(line), `${line}\n${lines.join('\n')}`);
    }
  });

  test('before the first snapshot there is only the version', () => {
    assert.equal(
      format(null)
        .filter((line) => !line.startsWith('#'))
        .join(''),
      info,
    );
  });

  test('a name with quotes, backslashes and line breaks is escaped', () => {
    const lines = format(snapshot('a "b" \\ c\nd'));
    assert.ok(lines.includes('millrace_requests_sent_total{name="a \\"b\\" \\\\ c\\nd"} 200'));
  });

  test('a snapshot without them, or with other buckets, is refused', () => {
    const { byName, ...without } = snapshot();
    const other = { ...without, byName: [{ ...byName[0], buckets: [1, 2] }] };
    const buckets =
      'Prometheus takes snapshots of a load with the option buckets: [...PROMETHEUS_BUCKETS_MS]';
    for (const [value, message] of [
      [without, buckets],
      [other, buckets],
      [undefined, 'the given value is not a snapshot of a load'],
      [{ byName }, 'the given value is not a snapshot of a load'],
    ]) {
      assert.throws(() => formatPrometheus(value), { code: 'ERR_MILLRACE_USAGE', message });
    }
  });
});
