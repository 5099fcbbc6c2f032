// Trace contexts: what arrives, and which ids the report names.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import * as report from 'millrace/report';
import { request, scenario } from 'millrace/scenario';
import { asJson, isResult } from '../../fixtures/schemas.js';
import * as http2 from '../../fixtures/truth/http2/scripts.js';
import { http2Server } from '../../fixtures/truth/http2/server.js';
import { hang, ok } from '../../fixtures/truth/scripts.js';
import { truthServer } from '../../fixtures/truth/server.js';

const TIMEOUT = { timeout: 30_000, concurrency: 2 };
const FORM = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/;

/** Runs a load; the result, and the ids of the contexts that arrived: `null` for a request without one. */
async function run(t, { h2c = false, ...options }) {
  const server = await (h2c ? http2Server(t, http2.ok()) : truthServer(t, ok()));
  const result = await load({ url: server.url, h2c, pid: false, ...options });
  await server.settled(result.connections.opened);
  isResult(asJson(result));
  assert.deepEqual(isResult.errors, null);
  const contexts = server.requests.map((request) => {
    const fields = request.headers ?? request.fields;
    const values = fields.filter(([name]) => name === 'traceparent').map(([, value]) => value);
    assert.ok(values.length <= 1);
    if (values.length === 0) return null;
    const [, traceId, spanId] = FORM.exec(values[0]) ?? assert.fail(values[0]);
    return { traceId, spanId };
  });
  return { result, contexts };
}

const traces = (contexts) => new Set(contexts.map((context) => context?.traceId));

describe('traceparent', TIMEOUT, () => {
  for (const { protocol, options } of [
    { protocol: 'HTTP/1.1', options: {} },
    { protocol: 'HTTP/1.1, pipelined', options: { pipelining: 3 } },
    { protocol: 'HTTP/2', options: { h2c: true, pipelining: 5 } },
  ]) {
    test(`gives each request a trace of its own, and the slowest are named: ${protocol}`, async (t) => {
      const { result, contexts } = await run(t, {
        ...{ traceparent: 1, requests: 120, connections: 3, ...options },
      });
      assert.equal(traces(contexts).size, 120);
      assert.equal(new Set(contexts.map(({ spanId }) => spanId)).size, 120);
      const { slowest } = result;
      assert.equal(new Set(slowest.map(({ traceId }) => traceId)).size, 10);
      assert.ok(slowest.every(({ traceId }) => traces(contexts).has(traceId)));
      assert.ok(slowest.every(({ name, status }) => name === 'GET /' && status === 200));
      const latencies = slowest.map(({ latencyMs }) => latencyMs);
      assert.deepEqual(
        latencies,
        latencies.toSorted((a, b) => b - a),
      );
      assert.ok(Math.abs(latencies[0] - result.latencyMs.max) < result.latencyMs.max / 100);
      for (const text of [
        report.formatText(result),
        report.formatMarkdown(result),
        report.formatHtml(result),
      ]) {
        for (const { traceId } of slowest) assert.ok(text.includes(traceId));
      }
    });
  }

  test('of a share is in that share, the same with the same seed', async (t) => {
    const options = { traceparent: '30%', requests: 300, rate: 2000 };
    const runs = [];
    for (const seed of [1, 1, undefined, undefined]) {
      const { contexts, result } = await run(t, { ...options, ...(seed && { seed }) });
      assert.equal(result.plan.traceparent, 0.3);
      const own = traces(contexts.filter((context) => context !== null));
      // Five standard deviations around 90.
      assert.ok(own.size > 50 && own.size < 130, `${own.size}`);
      assert.ok(result.slowest.every(({ traceId }) => own.has(traceId)));
      runs.push([...own].sort());
    }
    assert.deepEqual(runs[0], runs[1]);
    assert.ok(runs[2].every((id) => !runs[3].includes(id) && !runs[0].includes(id)));
  });

  test('of an iteration is one trace, with a span for each request', async (t) => {
    const steps = [request('first', 'GET /1'), request('second', 'GET /2')];
    const { contexts, result } = await run(t, {
      ...{ scenario: scenario('two', steps), users: 2, requests: 20, traceparent: 1 },
    });
    assert.equal(traces(contexts).size, 20);
    assert.equal(new Set(contexts.map(({ spanId }) => spanId)).size, 40);
    assert.ok(result.slowest.every(({ name }) => ['first', 'second'].includes(name)));
  });

  test('names a timeout among the slowest', async (t) => {
    const server = await truthServer(t, hang());
    const result = await load({
      ...{ url: server.url, connections: 1, requests: 1, timeout: 100, traceparent: 1 },
    });
    const [{ status, error, latencyMs }] = result.slowest;
    assert.deepEqual([status, error], [null, 'timeout']);
    assert.ok(latencyMs >= 100);
    assert.match(report.formatText(result), /^[0-9a-f]{32} +\d+ ms +timeout +GET \/$/m);
  });

  test('is nowhere without the option', async (t) => {
    const { contexts, result } = await run(t, { requests: 5 });
    assert.deepEqual(contexts, [null, null, null, null, null]);
    assert.equal('slowest' in result, false);
  });

  for (const [value, message] of [
    [0, /^traceparent must be a share above 0 and up to 1, such as 1, 0\.01 or 1% \(got 0\)$/],
    ['2', /^traceparent must be a share above 0/],
    ['half', /^traceparent must be a share above 0/],
    [null, /^traceparent must be a share above 0 and up to 1, or text/],
  ]) {
    test(`${value} is refused`, async () => {
      await assert.rejects(
        async () => load({ url: 'http://127.0.0.1:1', traceparent: /** @type {any} */ (value) }),
        { code: 'ERR_MILLRACE_USAGE', message },
      );
    });
  }

  test('with a header of that name is refused', async () => {
    const headers = { TraceParent: 'mine' };
    await assert.rejects(async () => load({ url: 'http://127.0.0.1:1', traceparent: 1, headers }), {
      code: 'ERR_MILLRACE_USAGE',
      message: /^traceparent gives requests a header that one/,
    });
  });
});
