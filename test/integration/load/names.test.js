// Figures by request name: each request is counted once, under its own name, with its own times and bytes.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { load } from 'millrace';
import { decodeDurations } from '#internal/statistics/durations.js';
import { millrace } from '../../fixtures/truth/cli.js';

const DELAY_MS = 30;
const server = createServer((request, response) => {
  if (request.url === '/slow') return setTimeout(() => response.end('slow'), DELAY_MS);
  if (request.url === '/fail') response.statusCode = 500;
  if (request.url === '/reset') return request.socket.destroy();
  request.resume().on('end', () => response.end('x'.repeat(100)));
});
let url;

before(async () => {
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${server.address().port}`;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

const targets = () => [
  { url: `${url}/users/1` },
  { url: `${url}/users/2?page=1` },
  { url: `${url}/slow`, name: 'slow one' },
  { url: `${url}/fail`, method: 'POST', body: 'x'.repeat(50) },
  { url: `${url}/reset` },
];

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

describe('by name', { timeout: 30_000 }, () => {
  for (const threads of [1, 2]) {
    test(`the names add up to the run, with ${threads} threads`, async () => {
      const result = await load({ targets: targets(), threads, connections: 4, requests: 200 });
      const { byName, requests } = result;
      assert.deepEqual(byName.map(({ name }) => name).sort(), [
        'GET /reset',
        'GET /users/:id',
        'POST /fail',
        'slow one',
      ]);
      for (const key of ['sent', 'ok', 'statusErrors', 'transportErrors', 'timeouts']) {
        assert.equal(sum(byName.map((named) => named.requests[key])), requests[key], key);
      }
      assert.equal(sum(byName.map(({ bytes }) => bytes.sent)), result.bytes.sent);
      assert.equal(sum(byName.map(({ bytes }) => bytes.received)), result.bytes.received);
      assert.ok(Math.abs(sum(byName.map(({ timeShare }) => timeShare)) - 1) < 1e-9);
      for (const { name, latencyMs, requests, histograms } of byName) {
        assert.equal(latencyMs.count, requests.sent, name);
        assert.equal(decodeDurations(histograms.latency).count, requests.sent, name);
        assert.equal(decodeDurations(histograms.latencyCensored).count, latencyMs.censored, name);
      }
    });
  }

  test('each name has its own times, statuses, errors and first failing response', async () => {
    const { byName } = await load({ targets: targets(), connections: 1, requests: 50 });
    const [first] = byName;
    assert.equal(first.name, 'slow one', 'the largest share of the time is first');
    assert.ok(first.latencyMs.min >= DELAY_MS - 1 && first.timeShare > 0.3);
    assert.equal(first.failingResponse, null);
    const of = (name) => byName.find((named) => named.name === name);
    assert.deepEqual(of('GET /users/:id').statusCodes, { 200: 20 });
    assert.equal(of('GET /users/:id').requests.sent, 20);
    const failing = of('POST /fail');
    assert.deepEqual(failing.statusCodes, { 500: 10 });
    assert.equal(failing.requests.statusErrors, 10);
    assert.equal(failing.failingResponse.status, 500);
    assert.equal(failing.failingResponse.request.method, 'POST');
    assert.deepEqual(of('GET /reset').errors, [{ kind: 'closed-early', count: 10 }]);
    assert.equal(of('GET /reset').latencyMs.censored, 10);
  });

  test('the warm-up counts under no name', async () => {
    const { byName, warmup } = await load({
      targets: targets().slice(0, 3),
      ...{ connections: 2, requests: 30, warmup: '100ms' },
    });
    assert.ok(warmup.requests > 0);
    assert.equal(sum(byName.map(({ requests }) => requests.sent)), 30);
  });

  test('a run of one name has it with the figures of the run', async () => {
    const { byName, ...result } = await load({ url: `${url}/users/7`, requests: 20 });
    assert.equal(byName.length, 1);
    const [{ name, latencyMs, bytes, histograms }] = byName;
    assert.equal(name, 'GET /users/:id');
    assert.deepEqual({ latencyMs, bytes }, { latencyMs: result.latencyMs, bytes: result.bytes });
    assert.equal(histograms.latency, result.histograms.latency);
  });

  test('sums and histograms of the result agree', async () => {
    const result = await load({ url, requests: 100, connections: 5 });
    const { latency, connect, tls } = result.sums;
    assert.ok(Math.abs(Number(latency) / 1e6 / 100 - result.latencyMs.mean) < 1e-3);
    assert.equal(decodeDurations(result.histograms.connect).count, 5);
    assert.ok(Number(connect) > 0 && tls === '0');
    assert.equal(new Date(result.startedAtMs).toISOString(), result.startedAt);
  });

  test('the same seed gives the same requests', async (t) => {
    const seen = [];
    const recorder = createServer((request, response) => {
      seen.push(request.url);
      response.end();
    });
    await new Promise((listening) => recorder.listen(0, '127.0.0.1', listening));
    t.after(() => recorder.closeAllConnections());
    t.after(() => recorder.close());
    const path = `http://127.0.0.1:${recorder.address().port}/{{random:1-1000000}}`;
    const taken = [];
    for (const seed of [1, 1, 2]) {
      await load({ url: path, seed, requests: 20, connections: 1 });
      taken.push(seen.splice(0).join());
    }
    assert.equal(taken[0], taken[1]);
    assert.notEqual(taken[0], taken[2]);
  });

  test('snapshots count by name and bucket when the option buckets asks for it', async () => {
    const run = load({
      targets: targets().slice(0, 3),
      ...{ connections: 2, duration: '600ms', buckets: ['10ms', '10s'] },
    });
    let newest;
    for await (const snapshot of run) newest = snapshot;
    await run;
    const slow = newest.byName.find(({ name }) => name === 'slow one');
    assert.ok(slow.ended > 0 && slow.latencySumMs >= (slow.ended - 2) * (DELAY_MS - 1));
    assert.equal(slow.buckets[1], slow.ended);
    assert.ok(slow.buckets[0] <= 2, 'only requests that were in flight at the end are below 10 ms');
  });

  test('a condition on a name ends the run and fails it; others hold', async () => {
    const line = [
      ...targets()
        .slice(0, 3)
        .flatMap(({ url }) => ['--url', url]),
      ...['-d', '20s', '--abort-on-fail'],
      ...['--fail-on', 'GET /slow: max<20ms', '--fail-on', 'GET /users/:id: errors<1', '--json'],
    ];
    const { code, stdout, stderr } = await millrace(line);
    assert.equal(code, 99, stderr);
    const { conditions, abortedBy, durationMs } = JSON.parse(stdout);
    assert.equal(abortedBy, 'GET /slow: max<20ms');
    assert.ok(durationMs < 20_000);
    assert.deepEqual(
      conditions.map(({ holds }) => holds),
      [false, true],
    );
  });

  test('a condition on a name that no request has is refused before the run', async () => {
    const { code, stderr } = await millrace([url, '--fail-on', 'GET /x: p50<20ms']);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^millrace: 'GET \/x: p50<20ms': no request has the name 'GET \/x'; the names are 'GET \/'(, '[^']+')*\n$/,
    );
  });
});
