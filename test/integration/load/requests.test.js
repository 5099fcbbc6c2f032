// What arrives is what was asked for: method, target, headers and body, byte by byte, in the order and shares given.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { load } from 'millrace';
import { assertSeenByServer } from '../../fixtures/truth/accounting.js';
import { millrace } from '../../fixtures/truth/cli.js';
import { delay, ok } from '../../fixtures/truth/scripts.js';
import { truthServer } from '../../fixtures/truth/server.js';

const TIMEOUT = { timeout: 20_000 };
const folder = mkdtempSync(join(tmpdir(), 'millrace-requests-'));
after(() => rmSync(folder, { recursive: true }));

function file(name, content) {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** Loads a server that answers at once; the requests that arrived. */
async function requestsOf(t, options, script = ok()) {
  const server = await truthServer(t, script);
  const { path = '/', ...rest } = options;
  const url = server.url.slice(0, -1) + path;
  const result = await load({ url, connections: 1, requests: 1, ...rest });
  await server.settled(result.connections.opened);
  assertSeenByServer(result, server);
  assert.equal(result.requests.ok, rest.requests ?? 1);
  return server.requests;
}

async function requestOf(t, options) {
  const [request] = await requestsOf(t, options);
  return request;
}

/** The last part of each target, as a number. */
function numbers(requests) {
  return requests.map(({ target }) => Number(target.slice(target.search(/\d+$/))));
}

function ascending(a, b) {
  return a - b;
}

describe('a request without placeholders', TIMEOUT, () => {
  test('a request without options has exactly the documented bytes', async (t) => {
    const server = await truthServer(t, ok());
    await load({ url: server.url, connections: 1, requests: 1 });
    const manifest = JSON.parse(
      readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
    );
    assert.equal(
      server.requests[0].bytes.toString('latin1'),
      `GET / HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nUser-Agent: millrace/${manifest.version}\r\nAccept: */*\r\n\r\n`,
    );
  });

  for (const method of ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE']) {
    test(`a request can have the method ${method}`, async (t) => {
      const request = await requestOf(t, { method, path: '/a/b?c=d' });
      assert.equal(request.method, method);
      assert.equal(request.target, '/a/b?c=d');
      const announces = ['POST', 'PUT', 'PATCH'].includes(method);
      assert.equal(request.header('content-length'), announces ? '0' : undefined);
    });
  }

  test('headers are sent as specified, in order', async (t) => {
    const headers = [
      ['X-Case', 'AbC  d'],
      ['x-twice', '1'],
      ['X-Twice', '2'],
      ['Cookie', 'a=b; c="d,e"'],
      ['X-Empty', ''],
      ['host', 'example.test'],
      ['User-Agent', 'mine'],
    ];
    const request = await requestOf(t, { headers });
    assert.deepEqual(request.headers, [['Accept', '*/*'], ...headers]);
  });

  test('headers of the command line are sent', async (t) => {
    const server = await truthServer(t, ok());
    const flags = [
      '-n',
      '1',
      '-c',
      '1',
      '-H',
      'X-One: 1:2',
      '-H',
      'X-One:  two',
      '-m',
      'PUT',
      '-b',
      'hi',
    ];
    const { code } = await millrace([...flags, `${server.url}x`]);
    assert.equal(code, 0);
    const [request] = server.requests;
    assert.equal(request.method, 'PUT');
    const mine = request.headers.filter(([name]) => name === 'X-One');
    assert.deepEqual(mine, [
      ['X-One', '1:2'],
      ['X-One', 'two'],
    ]);
    assert.equal(request.body.toString(), 'hi');
  });

  test('a body of text is sent with its length in bytes', async (t) => {
    const request = await requestOf(t, { body: 'größer' });
    assert.equal(request.method, 'POST');
    assert.equal(request.header('content-length'), '8');
    assert.equal(request.body.toString(), 'größer');
  });

  test('a body of bytes is read from a file', async (t) => {
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, n) => (n * 7) % 256));
    const bodyFile = file('body.bin', bytes);
    const request = await requestOf(t, { bodyFile, placeholders: false });
    assert.ok(request.body.equals(bytes));
  });

  test("a body larger than the socket's buffer is sent", async (t) => {
    const body = Buffer.alloc(20_000_000, 'abcdefg');
    const [first, second] = await requestsOf(t, { body, requests: 2 });
    assert.ok(first.body.equals(body));
    assert.ok(second.body.equals(body));
  });

  test('Connection: close is sent with each request', async (t) => {
    const requests = await requestsOf(t, { connection: 'close', requests: 5 });
    assert.deepEqual(
      requests.map((it) => [it.connection, it.header('connection')]),
      [0, 1, 2, 3, 4].map((connection) => [connection, 'close']),
    );
  });

  test('pipelined requests are sent at once', async (t) => {
    // Each answer waits for the whole batch: without pipelining there would be none.
    const server = await truthServer(t, ({ position }) => ({
      parts: position % 8 === 7 ? [Buffer.concat(Array(8).fill(ok()()))] : [],
    }));
    const result = await load({ url: server.url, connections: 1, pipelining: 8, requests: 160 });
    await server.settled(result.connections.opened);
    assertSeenByServer(result, server);
    assert.equal(result.requests.ok, 160);
  });
});

describe('placeholders in requests', TIMEOUT, () => {
  test('{{seq}} counts without gap or repetition over threads and connections', async (t) => {
    const options = { path: '/{{seq}}', requests: 500, connections: 7, threads: 3, pipelining: 2 };
    const seen = numbers(await requestsOf(t, options)).sort(ascending);
    assert.deepEqual(
      seen,
      Array.from({ length: 500 }, (_, n) => n),
    );
  });

  test('{{seq}} counts in an open run', async (t) => {
    const options = { path: '/{{seq}}', requests: 200, rate: 2000, threads: 2, connections: 4 };
    const seen = numbers(await requestsOf(t, options)).sort(ascending);
    assert.deepEqual(
      seen,
      Array.from({ length: 200 }, (_, n) => n),
    );
  });

  test('one request has one number in all its parts, and its length follows', async (t) => {
    const requests = await requestsOf(t, {
      path: '/a{{seq}}b{{seq}}',
      headers: { 'X-Seq': '<{{seq}}>' },
      body: '{"n":{{seq}}}',
      requests: 120,
      connections: 3,
    });
    for (const request of requests) {
      const n = /^\/a(\d+)b\1$/.exec(request.target)?.[1];
      assert.equal(request.header('x-seq'), `<${n}>`);
      assert.equal(request.body.toString(), `{"n":${n}}`);
    }
    assert.equal(new Set(requests.map(({ target }) => target)).size, 120);
  });

  test('{{random}} takes every value of its range, including both ends', async (t) => {
    const seen = numbers(await requestsOf(t, { path: '/{{random:8-12}}', requests: 500 }));
    assert.deepEqual([...new Set(seen)].sort(ascending), [8, 9, 10, 11, 12]);
    // 100 each are expected, with a standard deviation of 9.
    for (const value of new Set(seen)) {
      const count = seen.filter((other) => other === value).length;
      assert.ok(count > 50 && count < 150, `${value} came ${count} times`);
    }
  });

  test('{{uuid}} is random, of version 4, and new each time', async (t) => {
    const options = { path: '/{{uuid}}', requests: 300, connections: 4, threads: 2 };
    const requests = await requestsOf(t, options);
    const uuid = /^\/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    for (const { target } of requests) assert.match(target, uuid);
    assert.equal(new Set(requests.map(({ target }) => target)).size, 300);
  });

  test('{{csv}} takes the rows in turn, and all columns from one row', async (t) => {
    const csv = file('users.csv', 'name,id\nann,1\n"bob, ""b""",2\ncat,3\n');
    const requests = await requestsOf(t, {
      path: `/{{csv:${csv}:id}}`,
      body: `{{seq}} {{csv:${csv}:name}}`,
      requests: 30,
      connections: 2,
      threads: 2,
    });
    const names = ['ann', 'bob, "b"', 'cat'];
    for (const { target, body } of requests) {
      const [, seq, name] = /^(\d+) (.*)$/.exec(body.toString());
      assert.equal(name, names[seq % 3]);
      assert.equal(target, `/${(seq % 3) + 1}`);
    }
  });

  test('{{csv}} accepts a column whose name has a space, in a URL', async (t) => {
    const csv = file('spaced.csv', 'the id\n7\n');
    const request = await requestOf(t, { path: `/{{csv:${csv}:the id}}` });
    assert.equal(request.target, '/7');
  });

  test('{{csv}} escapes a value that a request line cannot contain', async (t) => {
    const csv = file('words.csv', 'word\ntwo words\n"two\nlines"\ngröße\n');
    const requests = await requestsOf(t, { path: `/{{csv:${csv}:word}}`, requests: 3 });
    const targets = requests.map(({ target }) => target);
    assert.deepEqual(targets, ['/two%20words', '/two%0Alines', '/gr%C3%B6%C3%9Fe']);
  });

  test('{{csv}} refuses a value that a header cannot contain', async (t) => {
    const csv = file('split.csv', 'word\n"one\r\nX-Injected: yes"\n');
    const server = await truthServer(t, ok());
    const headers = { 'X-Word': `{{csv:${csv}:word}}` };
    await assert.rejects(load({ url: server.url, headers, requests: 1 }), {
      code: 'ERR_MILLRACE_USAGE',
    });
    assert.equal(server.requests.length, 0);
  });

  test('the text of placeholders is sent unchanged if they are turned off', async (t) => {
    const options = { path: '/{{seq}}', body: '{{nothing known}}', placeholders: false };
    const request = await requestOf(t, options);
    assert.equal(request.target, '/{{seq}}');
    assert.equal(request.body.toString(), '{{nothing known}}');
  });
});

describe('several targets', TIMEOUT, () => {
  test('several URLs are requested in turn', async (t) => {
    const server = await truthServer(t, ok());
    const url = ['a', 'b', 'c'].map((path) => server.url + path);
    await load({ url, connections: 1, requests: 9 });
    const targets = server.requests.map(({ target }) => target);
    assert.deepEqual(targets, ['/a', '/b', '/c', '/a', '/b', '/c', '/a', '/b', '/c']);
  });

  test('several URLs are requested equally often over threads', async (t) => {
    const server = await truthServer(t, ok());
    const url = ['a', 'b', 'c'].map((path) => server.url + path);
    await load({ url, connections: 4, threads: 2, requests: 600 });
    for (const path of ['/a', '/b', '/c']) {
      assert.equal(server.requests.filter(({ target }) => target === path).length, 200);
    }
  });

  test('the URLs of two servers are requested in turn', async (t) => {
    const servers = [await truthServer(t, ok()), await truthServer(t, delay(1))];
    const url = servers.map((server) => server.url);
    const result = await load({ url, connections: 4, rate: 500, requests: 100 });
    assert.deepEqual(
      servers.map(({ requests }) => requests.length),
      [50, 50],
    );
    for (const { requests, port } of servers) {
      for (const request of requests) assert.equal(request.header('host'), `127.0.0.1:${port}`);
    }
    assert.equal(result.requests.ok, 100);
  });

  test('targets are requested by weight', async (t) => {
    const server = await truthServer(t, ok());
    const targets = [
      { url: `${server.url}rare`, weight: 1 },
      { url: `${server.url}often`, weight: 4, method: 'POST', body: 'x' },
    ];
    await load({ targets, connections: 3, requests: 2000 });
    const rare = server.requests.filter(({ target }) => target === '/rare').length;
    // 400 are expected, with a standard deviation of 18.
    assert.ok(rare > 300 && rare < 500, `${rare} of 2000`);
    for (const { target, method } of server.requests) {
      assert.equal(method, target === '/rare' ? 'GET' : 'POST');
    }
  });

  test("a file in vegeta's text format is read", async (t) => {
    const server = await truthServer(t, ok());
    const body = file('form.txt', 'from a file');
    const targetsFile = file(
      'targets.txt',
      `# a comment\nGET ${server.url}one\nX-Token: abc\nX-Token: def\n\nPOST ${server.url}two\nContent-Type: text/plain\n@${body}\n\nDELETE ${server.url}three\n`,
    );
    await load({ targetsFile, connections: 1, requests: 3, headers: { 'X-All': 'yes' } });
    const [one, two, three] = server.requests;
    assert.deepEqual([one.method, one.target], ['GET', '/one']);
    const tokens = one.headers.filter(([name]) => name === 'X-Token').map(([, value]) => value);
    assert.deepEqual(tokens, ['abc', 'def']);
    assert.deepEqual([two.method, two.target], ['POST', '/two']);
    assert.equal(two.header('content-type'), 'text/plain');
    assert.equal(two.body.toString(), 'from a file');
    assert.deepEqual([three.method, three.target], ['DELETE', '/three']);
    for (const request of server.requests) assert.equal(request.header('x-all'), 'yes');
  });

  test("a file in vegeta's JSON format is read", async (t) => {
    const server = await truthServer(t, ok());
    const lines = [
      { method: 'GET', url: `${server.url}one`, header: { 'X-Token': ['abc', 'def'] } },
      {
        method: 'PUT',
        url: `${server.url}two`,
        body: Buffer.from([0, 255, 13]).toString('base64'),
      },
    ];
    const targetsFile = file('targets.json', lines.map((line) => JSON.stringify(line)).join('\n'));
    await load({ targetsFile, connections: 1, requests: 2 });
    const [one, two] = server.requests;
    const tokens = one.headers.filter(([name]) => name === 'X-Token').map(([, value]) => value);
    assert.deepEqual(tokens, ['abc', 'def']);
    assert.deepEqual([two.method, two.target], ['PUT', '/two']);
    assert.deepEqual([...two.body], [0, 255, 13]);
  });
});
