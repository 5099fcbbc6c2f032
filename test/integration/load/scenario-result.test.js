// The result of a run of scenarios against a server that counts: iterations, steps, checks, metrics, conditions, exit code.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { load } from 'millrace';
import { formatText } from 'millrace/report';
import { json, pause, request, scenario } from 'millrace/scenario';
import { decodeDurations } from '#internal/statistics/durations.js';
import { assertAddsUp } from '../../fixtures/truth/accounting.js';
import { millrace } from '../../fixtures/truth/cli.js';

const PAUSE_MS = 20;
const arrived = new Map();
const server = createServer((request, response) => {
  const number = (arrived.get(request.url) ?? 0) + 1;
  arrived.set(request.url, number);
  const answer = (status, value) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  if (request.url === '/login') return answer(200, { token: `token-${number}` });
  // One order of four is refused.
  if (request.url === '/orders') return answer(number % 4 === 0 ? 409 : 201, { number });
  if (request.url === '/items') return answer(200, { items: number % 5 === 0 ? [] : [1] });
  answer(404, {});
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

const shop = () => [
  scenario('order', [
    request('log in', 'POST /login', { save: { token: json('/token') } }),
    pause(`${PAUSE_MS}ms`),
    request('buy', 'POST /orders', {
      headers: { authorization: 'Bearer {{token}}' },
      expect: { status: 201 },
      after: (response, { metrics }) => metrics.add('orders', response.status === 201 ? 1 : 0),
    }),
  ]),
  scenario('look', [request('list', 'GET /items', { save: { first: json('/items/0') } })]),
];

describe('a run of scenarios', { timeout: 30_000 }, () => {
  test('accounts for iterations, steps and checks as for requests', async () => {
    arrived.clear();
    const snapshots = [];
    const run = load({
      ...{ url, scenario: shop(), users: 4, requests: 200, seed: 1 },
      failOn: ['iterations>100', 'checks>99%', 'metrics.orders>10'],
    });
    for await (const snapshot of run) snapshots.push(snapshot);
    const result = await run;
    assertAddsUp(result);
    const { iterations, scenarios, steps, checks, metrics, hooks, byName, conditions } = result;
    assert.equal(iterations.started, 200);
    assert.equal(iterations.inProgress, 0);
    for (const one of [iterations, ...scenarios]) {
      assert.equal(one.started, one.completed + one.failed + one.inProgress);
      assert.equal(one.durationMs.count, one.started);
      assert.equal(one.durationMs.censored, one.failed + one.inProgress);
      assert.equal(decodeDurations(one.histograms.duration).count, one.started);
      assert.equal(one.rate, (1000 * one.completed) / result.durationMs);
    }
    const [order, look] = scenarios;
    assert.equal(order.started + look.started, 200);
    // Each request arrived once, under its own name.
    const sentOf = (name) => byName.find((one) => one.name === name).requests.sent;
    assert.equal(sentOf('log in'), arrived.get('/login'));
    assert.equal(sentOf('buy'), arrived.get('/orders'));
    assert.equal(sentOf('list'), arrived.get('/items'));
    const refused = Math.floor(arrived.get('/orders') / 4);
    const empty = Math.floor(arrived.get('/items') / 5);
    assert.deepEqual(checks, { passed: order.started - refused, failed: refused });
    assert.equal(order.failed, refused);
    assert.equal(look.failed, empty);
    const [login, buy, list] = steps;
    assert.deepEqual(login, {
      ...{ scenario: 'order', name: 'log in', failures: [], checks: [] },
      saves: [
        {
          variable: 'token',
          from: 'json /token',
          optional: false,
          found: order.started,
          missing: 0,
          example: null,
        },
      ],
    });
    assert.deepEqual(
      buy.failures.map(({ reason, count }) => [reason, count]),
      [['check', refused]],
    );
    assert.match(buy.checks[0].example, /^status 409 in: \{"number":4\}$/);
    assert.equal(list.saves[0].missing, empty);
    assert.match(list.saves[0].example, /^nothing at '\/items\/0' in: \{"items":\[\]\}$/);
    // The pause is part of the duration alone.
    assert.ok(order.durationMs.min >= PAUSE_MS, `${order.durationMs.min}`);
    assert.ok(order.activeMs.p50 <= order.durationMs.p50 - PAUSE_MS);
    assert.equal(hooks.calls, order.started);
    assert.ok(hooks.busyMs > 0 && hooks.busyMs < result.durationMs);
    assert.equal(metrics.orders.count, order.started);
    assert.equal(metrics.orders.sum, order.started - refused);
    assert.deepEqual(
      conditions.map(({ holds }) => holds),
      [true, false, true],
    );
    const last = snapshots.at(-1).iterations;
    assert.ok(
      last.inProgress <= 4 && last.started <= 200 && last.completed <= iterations.completed,
    );
    assert.match(formatText(result), /^buy: status 201 failed \d+ of \d+ times: status 409/m);
  });

  test('that completes no iteration exits with 3, and says which step failed and why', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-scenario-'));
    try {
      const file = join(folder, 'broken.mjs');
      writeFileSync(
        file,
        `import { request, scenario } from 'millrace/scenario';
        export default scenario('broken', [
          request('first', 'GET /items'),
          request('second', 'GET /nowhere'),
        ]);`,
      );
      const { code, stdout } = await millrace(['run', file, '-n', '20', url]);
      assert.equal(code, 3);
      assert.match(
        stdout.replaceAll(/\n {2}/g, ' '),
        /^! No iteration was completed: step 'second' failed 20 times; error status: status 404 in: \{\}\.$/m,
      );
      const gated = await millrace(['run', file, '-n', '20', '--fail-on', 'iterations>1', url]);
      assert.equal(gated.code, 3);
      const unknown = await millrace(['run', file, '--fail-on', 'third: p99<1s', url]);
      assert.equal(unknown.code, 2);
      assert.match(
        unknown.stderr,
        /no request has the name 'third'; the names are 'first', 'second'/,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('that is ended by a condition on iterations says so', async () => {
    const result = await load({
      ...{ url, scenario: shop(), users: 4, duration: '20s' },
      ...{ failOn: 'iterations.failed<3', abortOnFail: true },
    });
    assert.equal(result.abortedBy, 'iterations.failed<3');
    assert.ok(result.durationMs < 10_000);
    const late = load({ url, scenario: shop(), failOn: 'checks>99%', abortOnFail: true });
    await assert.rejects(late, {
      code: 'ERR_MILLRACE_USAGE',
      message: /^abortOnFail: 'checks>99%' is known only at the end of a run/,
    });
  });
});
