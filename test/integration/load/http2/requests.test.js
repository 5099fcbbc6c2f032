// What arrives is what was asked for, field by field, and is named, followed, kept and counted as with HTTP/1.1.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { load } from 'millrace';
import { sum } from '../../../fixtures/truth/accounting.js';
import { millrace } from '../../../fixtures/truth/cli.js';
import { assertStreams, kinds } from '../../../fixtures/truth/http2/accounting.js';
import { answer, head } from '../../../fixtures/truth/http2/answers.js';
import { data, rstStream } from '../../../fixtures/truth/http2/frames.js';
import { delay, hang, ok } from '../../../fixtures/truth/http2/scripts.js';
import { http2Server } from '../../../fixtures/truth/http2/server.js';

const TIMEOUT = { timeout: 30_000, concurrency: 3 };
const folder = mkdtempSync(join(tmpdir(), 'millrace-h2-requests-'));
after(() => rmSync(folder, { recursive: true }));

/** Loads a server; the result, and the requests that arrived. */
async function run(t, { path = '/', script = ok(), ...options } = /** @type {any} */ ({})) {
  const server = await http2Server(t, script);
  const load_ = { h2c: true, pid: false, connections: 1, requests: 1, ...options };
  const result = await load({ url: server.url.slice(0, -1) + path, ...load_ });
  await server.settled(result.connections.opened);
  assertStreams(result, server);
  return { result, server, requests: server.requests };
}

describe('a request', TIMEOUT, () => {
  test('without options has exactly the documented fields', async (t) => {
    const { requests, server } = await run(t, { path: '/a/b?c=d' });
    const manifest = new URL('../../../../package.json', import.meta.url);
    const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
    assert.deepEqual(requests[0].fields, [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/a/b?c=d'],
      [':authority', `127.0.0.1:${server.port}`],
      ['user-agent', `millrace/${version}`],
      ['accept', '*/*'],
    ]);
  });

  for (const method of ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE']) {
    test(`can have the method ${method}`, async (t) => {
      const script = (request) => answer(request, { ...(method === 'HEAD' && { body: null }) });
      const { requests, result } = await run(t, { method, script });
      assert.equal(requests[0].method, method);
      assert.equal(result.requests.ok, 1);
      const announces = ['POST', 'PUT', 'PATCH'].includes(method);
      assert.equal(requests[0].header('content-length'), announces ? '0' : undefined);
      assert.equal(requests[0].bodyLength, 0);
    });
  }

  test('has the names of its headers in lower case, and none that only HTTP/1.1 has', async (t) => {
    const headers = [
      ['X-Case', 'AbC  d'],
      ['x-twice', '1'],
      ['X-Twice', '2'],
      ['Cookie', 'a=b; c="d,e"'],
      ['X-Empty', ''],
      ['Host', 'example.test'],
      ['User-Agent', 'mine'],
      ['Connection', 'keep-alive'],
      ['Keep-Alive', 'timeout=5'],
      ['TE', 'trailers'],
    ];
    const { requests } = await run(t, { headers, requests: 3 });
    for (const request of requests) {
      assert.equal(request.header(':authority'), 'example.test');
      const cookies = request.fields.filter(([name]) => name === 'cookie');
      assert.equal(cookies.map(([, value]) => value).join('; '), 'a=b; c="d,e"');
      const others = request.fields.filter(([name]) => !/^(:.*|cookie)$/.test(name));
      assert.deepEqual(others, [
        ['accept', '*/*'],
        ['x-case', 'AbC  d'],
        ['x-twice', '1'],
        ['x-twice', '2'],
        ['x-empty', ''],
        ['user-agent', 'mine'],
        ['te', 'trailers'],
      ]);
    }
  });

  test('can have bytes above 127, and secrets that no table keeps', async (t) => {
    const headers = { 'x-utf8': 'größer', authorization: 'Bearer abc' };
    const { requests } = await run(t, { headers, requests: 5 });
    for (const request of requests) {
      assert.equal(Buffer.from(request.header('x-utf8'), 'latin1').toString(), 'größer');
      assert.equal(request.header('authorization'), 'Bearer abc');
    }
  });

  test('has its body, and a content-length in bytes', async (t) => {
    const { requests } = await run(t, { body: 'größer', requests: 3 });
    for (const request of requests) {
      assert.equal(request.method, 'POST');
      assert.equal(request.header('content-length'), '8');
      assert.equal(request.body.toString(), 'größer');
    }
  });

  test('has other values of its placeholders each time', async (t) => {
    const table = join(folder, 'users.csv');
    writeFileSync(table, 'name,age\nann,1\nbob,2\n');
    const { requests } = await run(t, {
      ...{ path: `/{{seq}}?n={{csv:${table}:name}}`, body: '{"n":{{seq}},"id":"{{uuid}}"}' },
      ...{ headers: { 'X-Number': '{{seq}}' }, requests: 60, connections: 2, pipelining: 5 },
    });
    const numbers = requests.map(({ target }) => Number(/\d+/.exec(target)[0]));
    assert.deepEqual(
      numbers.sort((a, b) => a - b),
      Array.from({ length: 60 }, (_, n) => n),
    );
    const ids = new Set();
    for (const request of requests) {
      const { n, id } = JSON.parse(request.body.toString());
      ids.add(id);
      assert.equal(request.header('x-number'), `${n}`);
      assert.match(request.target, new RegExp(`^/${n}\\?n=(ann|bob)$`));
    }
    assert.equal(ids.size, 60);
  });

  test('is one of several targets in their order and shares', async (t) => {
    const server = await http2Server(t, ok());
    const targets = [
      { url: `${server.url}a`, weight: 2 },
      { url: `${server.url}b`, method: 'PUT', body: 'x'.repeat(100) },
    ];
    const options = { targets, requests: 300, connections: 2, pipelining: 4 };
    const result = await load({ h2c: true, ...options });
    await server.settled(2);
    assertStreams(result, server);
    const puts = server.requests.filter(({ method }) => method === 'PUT');
    assert.ok(Math.abs(puts.length - 100) < 50, `${puts.length} of 300`);
    for (const { target, bodyLength } of puts) assert.deepEqual([target, bodyLength], ['/b', 100]);
    const { byName } = result;
    assert.deepEqual(byName.map(({ name }) => name).sort(), ['GET /a', 'PUT /b']);
    assert.equal(sum(byName.map(({ requests }) => requests.sent)), 300);
    // What belongs to no request is in the sums of the run alone: SETTINGS, WINDOW_UPDATE.
    const ofNames = (direction) => sum(byName.map(({ bytes }) => bytes[direction]));
    assert.equal(ofNames('sent'), sum(server.requests.map(({ received }) => received)));
    assert.equal(ofNames('received'), sum(server.requests.map(({ sent }) => sent)));
  });

  test('is the one of the command line', async (t) => {
    const server = await http2Server(t, ok());
    const flags = ['--h2c', '-n', '1', '-c', '1', '-H', 'X-One: 1:2', '-m', 'PUT', '-b', 'hi'];
    const { code, stdout } = await millrace([...flags, `${server.url}x`]);
    assert.equal(code, 0);
    assert.match(stdout, /HTTP\/2/);
    const [request] = server.requests;
    assert.equal(request.header('x-one'), '1:2');
    assert.equal(request.body.toString(), 'hi');
  });
});

test('a user who thinks sends the next request of the stream later', TIMEOUT, async (t) => {
  const options = { script: delay(0), thinkTime: 100, requests: 12, pipelining: 3 };
  const { requests } = await run(t, options);
  const times = requests.map(({ headAt }) => headAt);
  assert.ok(times[3] - times[2] >= 95, 'the fourth comes after the pause');
  assert.ok(times[11] - times[0] >= 290);
});

test('a connection for each request has one stream', TIMEOUT, async (t) => {
  const { server, result } = await run(t, { connection: 'close', requests: 10, connections: 2 });
  // Near the end two may be opened for the last request.
  assert.ok([10, 11].includes(result.connections.opened), `${result.connections.opened}`);
  for (const { requests } of server.connections) assert.ok(requests.length <= 1);
});

test('a duration ends with what is in flight', TIMEOUT, async (t) => {
  const { result } = await run(t, {
    script: hang(),
    requests: undefined,
    duration: 200,
    pipelining: 7,
  });
  assert.equal(result.requests.inFlightAtEnd, 7);
});

describe('what is kept of responses', TIMEOUT, () => {
  test('is the first of each status and error: in one frame, in parts, cut short', async (t) => {
    const content = `first of them ${'x'.repeat(3000)}`;
    const answers = [
      (it) => answer(it),
      (it) => answer(it, { status: 500, body: content, headers: { 'x-request': '1' } }),
      (it) => answer(it, { status: 500, body: 'second of them' }),
      (it) =>
        answer(it, { status: 404, body: 'no such thing', chunk: 4, interim: [103], fragment: 3 }),
      (it) => answer(it, { status: 400, body: Buffer.from([1, 0, 2, 255]) }),
      (it) =>
        Buffer.concat([head(it, { length: 9 }), data(it.id, 'half'), rstStream(it.id, 'CANCEL')]),
      (it) => answer(it, { length: 'nine', body: 'protocol' }),
      (it) => head(it),
    ];
    const { result } = await run(t, {
      ...{ script: (request) => (answers[request.index] ?? answers[0])(request) },
      ...{ path: '/{{seq}}', requests: 12, timeout: 200 },
    });
    assert.deepEqual(kinds(result), { 'stream-reset': 1, protocol: 1, timeout: 1 });
    const kept = result.failingResponses.map(({ status, error, head, body, bodyTruncated }) => [
      ...[status ?? error, head, body, bodyTruncated],
    ]);
    assert.deepEqual(kept.slice(0, 3), [
      [
        500,
        `HTTP/2 500\nx-request: 1\ncontent-length: ${content.length}`,
        ...[content.slice(0, 1024), true],
      ],
      [404, 'HTTP/2 404\ncontent-length: 13', 'no such thing', false],
      [400, 'HTTP/2 400\ncontent-length: 4', '(4 bytes that are not text)', false],
    ]);
  });

  test('is what --expect and the series say of statuses', async (t) => {
    const statuses = [200, 204, 301, 404, 503];
    const script = (request) =>
      answer(request, { status: statuses[request.index % 5], body: null });
    const { result } = await run(t, { script, requests: 50, expect: ['2xx', '404'] });
    assert.deepEqual([result.requests.ok, result.requests.statusErrors], [30, 20]);
    assert.deepEqual(result.statusCodes, { 200: 10, 204: 10, 301: 10, 404: 10, 503: 10 });
  });
});

describe('--follow', TIMEOUT, () => {
  const redirect = (request, location, options) =>
    answer(request, { status: 302, headers: { location }, ...options });

  /** Answers by the target; what is not named is the page. */
  function by(answers) {
    return (request) => answers[request.target]?.(request) ?? answer(request, { body: 'the page' });
  }

  const chain = by({
    '/': (it) => redirect(it, '/a/', { body: 'moved', fragment: 5 }),
    '/a/': (it) => redirect(it, 'b?c=1', { status: 301, body: null }),
    '/a/b?c=1': (it) => redirect(it, '../d', { status: 308, trailers: { a: 'b' } }),
    '/d': (it) => answer(it, { status: 404 }),
  });

  test('counts a chain of redirections as one request with the last status', async (t) => {
    const options = { follow: 3, requests: 20, expect: ['404'] };
    const server = await http2Server(t, chain);
    const result = await load({ url: server.url, h2c: true, connections: 1, ...options });
    await server.settled(1);
    assert.deepEqual(result.statusCodes, { 404: 20 });
    assert.deepEqual([result.requests.sent, result.requests.followed], [20, 60]);
    const targets = server.requests.map(({ target }) => target);
    assert.deepEqual(targets, Array(20).fill(['/', '/a/', '/a/b?c=1', '/d']).flat());
    assert.equal(result.bytes.sent, server.connections[0].received);
    assert.equal(result.bytes.received, server.connections[0].sent);
    assert.deepEqual(server.connections[0].violations, []);
  });

  test('takes the time of the whole chain, and its limit ends it', async (t) => {
    const slow = (next) => (it) => ({ after: 60, parts: [next(it)] });
    const script = by({
      '/': slow((it) => redirect(it, '/next')),
      '/next': slow((it) => answer(it)),
      '/slow': (it) => ({ after: 50, parts: [redirect(it, '/late')] }),
      '/late': (it) => ({ after: 1000, parts: [answer(it)] }),
    });
    const server = await http2Server(t, script);
    const options = { h2c: true, connections: 1, follow: 2, requests: 3 };
    const { latencyMs } = await load({ url: server.url, ...options });
    assert.ok(latencyMs.min >= 119, `${latencyMs.min}`);
    const late = await load({ url: `${server.url}slow`, ...options, timeout: 400 });
    assert.equal(late.requests.timeouts, 3);
    assert.ok(late.requests.followed > 0, 'each of the two responses would be in time');
    assert.equal(late.connections.opened, 1);
    await server.settled(2);
    assert.deepEqual(
      server.connections.flatMap(({ violations }) => violations),
      [],
    );
  });

  test('repeats the body where the status says so, within the windows', async (t) => {
    const script = {
      settings: { INITIAL_WINDOW_SIZE: 100 },
      request: by({
        '/307': (it) => redirect(it, '/end', { status: 307 }),
        '/303': (it) => redirect(it, '/end', { status: 303 }),
      }),
    };
    const server = await http2Server(t, script);
    const body = 'n={{seq}} '.repeat(100);
    for (const path of ['307', '303']) {
      const options = { h2c: true, connections: 1, follow: 1, requests: 4, body };
      const { statusCodes } = await load({ url: server.url + path, ...options });
      assert.deepEqual(statusCodes, { 200: 4 });
    }
    await server.settled(2);
    const [kept, dropped] = server.connections.map(({ requests }) => requests);
    for (const [index, request] of kept.entries()) {
      assert.equal(request.method, 'POST');
      assert.equal(request.body.toString(), `n=${index >> 1} `.repeat(100));
    }
    const seconds = dropped.filter(({ target }) => target === '/end');
    assert.equal(seconds.length, 4);
    for (const { method, bodyLength } of seconds)
      assert.deepEqual([method, bodyLength], ['GET', 0]);
    assert.deepEqual(
      server.connections.flatMap(({ violations }) => violations),
      [],
    );
  });

  test('counts a redirection that is refused or reset afterwards as an error, once', async (t) => {
    const server = await http2Server(
      t,
      by({
        '/': (it) => redirect(it, '/end'),
        '/end': ({ id }) => rstStream(id, 'REFUSED_STREAM'),
      }),
    );
    const options = { url: server.url, h2c: true, connections: 1, follow: 1, requests: 10 };
    const result = await load(options);
    assert.deepEqual(kinds(result), { 'refused-stream': 10 });
    assert.deepEqual([result.requests.sent, result.requests.followed], [10, 10]);
  });
});
