// Scenarios over HTTP/2: cookies, saved values, checks, hooks and pauses are those of HTTP/1.1, and users share connections.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import { cookie, header, json, pause, repeat, request, scenario } from 'millrace/scenario';
import { sum } from '../../../fixtures/truth/accounting.js';
import { assertStreams } from '../../../fixtures/truth/http2/accounting.js';
import { answer } from '../../../fixtures/truth/http2/answers.js';
import { rstStream } from '../../../fixtures/truth/http2/frames.js';
import { http2Server } from '../../../fixtures/truth/http2/server.js';

const TIMEOUT = { timeout: 30_000, concurrency: 3 };

/** Runs a scenario of these steps against a server that answers as `script` does. */
async function run(t, script, steps, { flow = {}, ...options } = /** @type {any} */ ({})) {
  const server = await http2Server(t, script);
  const result = await load({
    ...{ url: server.url, h2c: true, pid: false, scenario: scenario('one', steps, flow) },
    ...{ requests: 2, users: 1, seed: 1, ...options },
  });
  await server.settled(result.connections.opened);
  assertStreams(result, server);
  const { started, completed, failed, inProgress } = result.iterations;
  assert.equal(started, completed + failed + inProgress);
  return { server, result };
}

const setCookies = (...values) => values.map((value) => ['set-cookie', value]);

describe('a scenario over HTTP/2', TIMEOUT, () => {
  test('sends the cookies of its iteration', async (t) => {
    const answers = {
      '/set': setCookies('plain=1', 'deep=2; Path=/deep', 'gone=3; Max-Age=0'),
      '/out': setCookies('plain=; Max-Age=0'),
    };
    const script = (it) => answer(it, { headers: answers[it.target] ?? [] });
    const paths = ['/set', '/a', '/deep/b', '/out', '/c'];
    const steps = paths.map((path) => request(path, `GET ${path}`));
    const { server } = await run(t, script, steps);
    const seen = server.requests.map(({ target, fields }) => [
      target,
      // Each may come in a field of its own (RFC 9113, section 8.2.3).
      fields.flatMap(([name, value]) => (name === 'cookie' ? value.split('; ') : [])).sort(),
    ]);
    const iteration = [
      ['/set', []],
      ['/a', ['plain=1']],
      ['/deep/b', ['deep=2', 'plain=1']],
      ['/out', ['plain=1']],
      ['/c', []],
    ];
    assert.deepEqual(seen, [...iteration, ...iteration]);
  });

  test('uses values of a body, a field, a trailer and a cookie in later requests', async (t) => {
    const script = (it) =>
      it.target === '/get'
        ? answer(it, {
            body: Buffer.from(JSON.stringify({ id: it.index, list: ['é', 1] })),
            headers: [['x-key', `k${it.index}`], ...setCookies(`c=v${it.index}`)],
            trailers: { 'x-trailer': `t${it.index}` },
            ...{ chunk: 3, fragment: 2, interim: [103] },
          })
        : answer(it);
    const save = { id: json('/id'), list: json('/list'), key: header('x-key'), c: cookie('c') };
    const steps = [
      request('get', 'GET /get', { save: { ...save, trailer: header('x-trailer') } }),
      request('use', 'POST /use/{{id}}/{{key}}/{{c}}/{{trailer}}', { json: { list: '{{list}}' } }),
    ];
    const { server, result } = await run(t, script, steps, {
      requests: 20,
      users: 4,
      connections: 2,
    });
    assert.equal(result.iterations.completed, 20);
    const used = server.requests.filter(({ method }) => method === 'POST');
    assert.equal(used.length, 20);
    for (const { target, body } of used) {
      const [, , n] = target.split('/');
      assert.equal(target, `/use/${n}/k${n}/v${n}/t${n}`);
      assert.deepEqual(JSON.parse(body.toString()), { list: ['é', 1] });
    }
  });

  test('checks statuses, fields, bodies and sizes', async (t) => {
    const body = JSON.stringify({ state: 'paid' });
    const script = (it) => answer(it, { status: 201, body, headers: { 'x-kind': 'a' } });
    const good = { status: 201, headers: { 'x-kind': 'a' }, json: { '/state': 'paid' }, size: 16 };
    const steps = [
      request('good', 'GET /good', { expect: good }),
      request('bad', 'GET /bad', { expect: { json: { '/state': 'open' } } }),
      request('never', 'GET /never'),
    ];
    const { server, result } = await run(t, script, steps, { requests: 5 });
    assert.equal(result.iterations.failed, 5);
    const targets = server.requests.map(({ target }) => target);
    assert.deepEqual(targets, Array(5).fill(['/good', '/bad']).flat());
    const failures = result.steps.flatMap((step) =>
      step.failures.map((it) => [step.name, it.count]),
    );
    assert.deepEqual(failures, [['bad', 5]]);
  });

  test('follows redirections with cookies', async (t) => {
    const script = (it) =>
      it.target === '/a'
        ? answer(it, { status: 302, headers: [['location', '/b'], ...setCookies('n=1')] })
        : answer(it);
    const steps = [repeat(2, [request('a', 'GET /a')])];
    const { server } = await run(t, script, steps, { flow: { follow: 1 }, requests: 1 });
    const seen = server.requests.map((it) => [it.target, it.header('cookie')]);
    assert.deepEqual(seen, [
      ['/a', undefined],
      ['/b', 'n=1'],
      ['/a', 'n=1'],
      ['/b', 'n=1'],
    ]);
  });

  test('calls hooks with status, headers and body', async (t) => {
    const script = (it) => answer(it, { body: `hello ${it.target}`, headers: { 'x-n': '7' } });
    const seen = [];
    const steps = [
      request('a', 'GET /{{n}}', {
        before: ({ variables, iteration }) => {
          variables.n = iteration;
        },
        after: (response) => {
          seen.push([response.status, response.headers['x-n'], response.text()]);
        },
      }),
    ];
    const { server } = await run(t, script, steps, { requests: 10, users: 2 });
    assert.deepEqual(
      seen.map(([, , text]) => text).sort(),
      server.requests.map(({ target }) => `hello ${target}`).sort(),
    );
    for (const [status, field] of seen) assert.deepEqual([status, field], [200, '7']);
  });

  test('pauses its user and no other on the same connection', async (t) => {
    const steps = [request('a', 'GET /a'), pause('50ms'), request('b', 'GET /b')];
    const options = { requests: 40, users: 20, connections: 1, pipelining: 20 };
    const { server, result } = await run(t, (it) => answer(it), steps, options);
    assert.equal(result.iterations.completed, 40);
    assert.equal(server.connections.length, 1);
    const at = ({ headAt }) => headAt;
    assert.ok(server.requests.at(-1).headAt - server.requests[0].headAt < 1000);
    assert.ok(Math.max(...server.requests.map(at)) - Math.min(...server.requests.map(at)) >= 99);
  });

  for (const [name, options] of Object.entries({
    'as many connections as users': { users: 10 },
    'two connections of five streams': { users: 10, connections: 2, pipelining: 5 },
    'fewer streams than users': { users: 10, connections: 1, pipelining: 3 },
    'an open run': { rate: 200, users: 50, connections: 2, pipelining: 10 },
  })) {
    test(`has each request of each user once: ${name}`, async (t) => {
      const script = (it) => ({
        after: 3,
        parts: [answer(it, { body: JSON.stringify({ id: it.index }) })],
      });
      const steps = [
        request('a', 'GET /a', { save: { id: json('/id') } }),
        request('b', 'GET /b/{{id}}'),
      ];
      const { server, result } = await run(t, script, steps, { ...options, requests: 100 });
      const { completed, notStarted } = result.iterations;
      assert.equal(completed, 100 - notStarted);
      assert.equal(sum(result.byName.map(({ requests }) => requests.sent)), 2 * completed);
      const ids = server.requests.filter(({ target }) => target === '/a').map(({ index }) => index);
      const used = server.requests.flatMap(({ target }) => target.match(/\d+/)?.map(Number) ?? []);
      assert.deepEqual(
        used.sort((a, b) => a - b),
        ids,
      );
    });
  }

  test('ends an iteration whose stream is reset, and begins the next one', async (t) => {
    const script = (it) => (it.target === '/b' ? rstStream(it.id, 'CANCEL') : answer(it));
    const steps = [request('a', 'GET /a'), request('b', 'GET /b'), request('c', 'GET /c')];
    const { server, result } = await run(t, script, steps, { requests: 10 });
    assert.deepEqual([result.iterations.failed, result.iterations.completed], [10, 0]);
    const targets = server.requests.map(({ target }) => target);
    assert.deepEqual(targets, Array(10).fill(['/a', '/b']).flat());
    assert.equal(result.connections.opened, 1);
  });
});
