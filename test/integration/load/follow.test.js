// --follow: a request and the redirections that it leads to are one request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from 'millrace';
import { assertAddsUp } from '../../fixtures/truth/accounting.js';
import { millrace, millraceJson } from '../../fixtures/truth/cli.js';
import { response } from '../../fixtures/truth/responses.js';
import { truthServer } from '../../fixtures/truth/server.js';

const PAGE = response('the page');

function redirection(location, { status = 302, body = '', headers = [] } = {}) {
  return response(body, { status, headers: [`Location: ${location}`, ...headers] });
}

/** Answers by the target; what is not named is the page. */
function by(answers) {
  return ({ target }) => answers[target] ?? PAGE;
}

function warning({ warnings }, id) {
  return warnings.find((it) => it.id === id)?.message;
}

function targetsOf(server) {
  return server.requests.map(({ method, target }) => `${method} ${target}`);
}

test('a chain of redirections counts as one request with the last status, on one connection', async (t) => {
  const server = await truthServer(
    t,
    by({
      '/': redirection('/a/'),
      '/a/': redirection('b?c=1', { status: 301, body: 'moved' }),
      '/a/b?c=1': redirection('../d', { status: 308 }),
      '/d': response('not here', { status: 404 }),
    }),
  );
  const { code, result } = await millraceJson([
    ...['--follow', '3', '-n', '20', '-c', '1', '--expect', '404', server.url],
  ]);
  assert.equal(code, 0);
  assertAddsUp(result);
  assert.deepEqual(result.statusCodes, { 404: 20 });
  assert.deepEqual([result.requests.sent, result.requests.followed], [20, 60]);
  assert.equal(result.plan.follow, 3);
  assert.equal(result.connections.opened, 1);
  const chain = ['GET /', 'GET /a/', 'GET /a/b?c=1', 'GET /d'];
  assert.deepEqual(targetsOf(server), Array(20).fill(chain).flat());
  assert.equal(result.bytes.sent, server.connections[0].received);
  assert.equal(result.bytes.received, server.connections[0].sent);
  assert.equal(warning(result, 'redirected'), undefined);
});

test('the time of a request is that of its whole chain, and its limit too', async (t) => {
  const slow = (answer, after) => ({ after, parts: [answer] });
  const server = await truthServer(
    t,
    by({
      '/': slow(redirection('/next'), 60),
      '/next': slow(PAGE, 60),
      '/slow': slow(redirection('/late'), 500),
      '/late': slow(PAGE, 1000),
    }),
  );
  const { latencyMs, serviceTimeMs } = await load({
    ...{ url: server.url, requests: 4, connections: 2, follow: 2 },
  });
  assert.ok(latencyMs.min >= 120 && serviceTimeMs.min >= 120, `${latencyMs.min}`);
  // Each of the two responses would be in time.
  const late = await load({
    ...{ url: `${server.url}slow`, requests: 1, connections: 1, follow: 2, timeout: 1200 },
  });
  assert.deepEqual([late.requests.timeouts, late.requests.followed], [1, 1]);
  assertAddsUp(late);
});

test('a redirection sets the method, content and headers of the next request', async (t) => {
  const statuses = { '/301': 301, '/302': 302, '/303': 303, '/307': 307, '/308': 308 };
  const server = await truthServer(t, ({ target }) =>
    target in statuses ? redirection('/end', { status: statuses[target] }) : PAGE,
  );
  await load({
    url: Object.keys(statuses).map((path) => server.url + path.slice(1)),
    method: 'POST',
    body: 'n={{seq}}',
    headers: { 'Content-Type': 'text/x', 'X-Number': '{{seq}}' },
    ...{ requests: 5, connections: 1, follow: 1 },
  });
  const shown = server.requests.map((request) => {
    const headers = Object.fromEntries(request.headers);
    return [request.method, headers['X-Number'], headers['Content-Type'], String(request.body)];
  });
  const expected = Object.values(statuses).flatMap((status, n) => {
    const post = ['POST', `${n}`, 'text/x', `n=${n}`];
    return [post, status >= 307 ? post : ['GET', `${n}`, undefined, '']];
  });
  assert.deepEqual(shown, expected);
});

test('a redirection that leads elsewhere, ends its connection or exceeds the maximum counts as a response', async (t) => {
  const other = await truthServer(t, () => PAGE);
  const server = await truthServer(
    t,
    by({
      '/other': redirection(`${other.url}x`),
      '/ends': redirection('/', { headers: ['Connection: close'] }),
      '/loop': redirection('/loop'),
      '/nowhere': response('', { status: 302 }),
      '/empty': redirection(''),
    }),
  );
  const seen = async (path, obstacle) => {
    const result = await load({
      ...{ url: server.url + path, requests: 10, connections: 1, follow: 2 },
    });
    assertAddsUp(result);
    assert.deepEqual(result.statusCodes, { 302: 10 }, path);
    assert.match(warning(result, 'redirected'), obstacle);
    return result.requests.followed;
  };
  assert.deepEqual(
    [
      await seen('other', /not followed \(of the first: it leads to another server\)/),
      await seen('ends', /\(of the first: the server ends the connection with it\)/),
      await seen('loop', /\(of the first: it comes after more redirections than --follow 2, or /),
      await seen('nowhere', /\(of the first: it has no Location\)/),
      await seen('empty', /\(of the first: its Location is empty\)/),
    ],
    [0, 0, 20, 0, 0],
  );
  assert.equal(other.requests.length, 0);
});

test('redirections are followed in an open run, in parts and over large heads, and reported', async (t) => {
  const answer = redirection('/end', { headers: [`X-Long: ${'y'.repeat(3000)}`] });
  const parts = [answer.subarray(0, 20), answer.subarray(20, 2000), answer.subarray(2000)];
  const server = await truthServer(t, ({ target }) => (target === '/' ? { parts } : PAGE));
  const { stdout } = await millrace(['--follow', '1', '-R', '50', '-n', '20', server.url]);
  assert.match(stdout, /20 sent = 20 ok/);
  assert.match(stdout, /followed +20 redirections in addition to these requests/);
  assert.match(stdout, /status +200: 20/);
});

test('a redirection whose connection the server closes without notice counts as a response', async (t) => {
  const closings = {
    '/with': { parts: [redirection('/end')], ending: 'end' },
    '/after': redirection('/nothing'),
    '/reset': redirection('/broken'),
    '/nothing': { parts: [''], ending: 'end' },
    '/broken': { parts: [''], ending: 'reset' },
  };
  const server = await truthServer(t, by(closings));
  for (const path of ['with', 'after', 'reset']) {
    const result = await load({
      ...{ url: server.url + path, requests: 5, connections: 1, follow: 1 },
    });
    assertAddsUp(result);
    assert.deepEqual([result.statusCodes, result.errors], [{ 302: 5 }, []], path);
    assert.equal(result.connections.closedByServer, 5, path);
    assert.match(warning(result, 'redirected'), /or the server closed the connection after it\)/);
  }
});

test('a response to a redirection that is cut short is an error', async (t) => {
  const server = await truthServer(t, ({ target }) =>
    target === '/' ? redirection('/end') : { parts: [PAGE.subarray(0, 30)], ending: 'end' },
  );
  const result = await load({ url: server.url, requests: 5, connections: 1, follow: 1 });
  assertAddsUp(result);
  assert.deepEqual([result.requests.transportErrors, result.errors[0].kind], [5, 'closed-early']);
});

test('a redirection with a large head and a late body is followed, wherever its Location stands', async (t) => {
  const long = `X-Long: ${'y'.repeat(20_000)}`;
  const folded = 'Location:\r\n /end';
  const answer = response('moved', { status: 302, headers: [long, folded] });
  const parts = [answer.subarray(0, answer.length - 3), answer.subarray(answer.length - 3)];
  const server = await truthServer(t, ({ target }) => (target === '/' ? { parts } : PAGE));
  const result = await load({ url: server.url, requests: 5, connections: 1, follow: 1 });
  assertAddsUp(result);
  assert.deepEqual([result.statusCodes, result.requests.followed], [{ 200: 5 }, 5]);
});

test('bytes after a redirection do not answer the request that follows it', async (t) => {
  const both = Buffer.concat([redirection('/end'), PAGE]);
  const server = await truthServer(t, by({ '/': both }));
  const result = await load({ url: server.url, requests: 5, connections: 1, follow: 1 });
  assertAddsUp(result);
  assert.deepEqual([result.statusCodes, result.requests.followed], [{ 302: 5 }, 0]);
  assert.match(result.errors[0].example, /bytes that answer no request/);
});

test('options that exclude --follow are refused in one line', async (t) => {
  const server = await truthServer(t, () => PAGE);
  for (const [flags, message] of [
    [['-p', '4'], /^millrace: follow 2 cannot be combined with pipelining 4: /],
    [
      ['--connection', 'close'],
      /^millrace: follow 2 cannot be combined with a new connection for each request: /,
    ],
    [
      ['-H', 'Connection: close'],
      /^millrace: follow 2 cannot be combined with a new connection for each request: /,
    ],
  ]) {
    const { code, stderr } = await millrace(['--follow', '2', ...flags, server.url]);
    assert.equal(code, 2);
    assert.match(stderr, message);
    assert.equal(stderr.trim().split('\n').length, 1);
  }
  const { stderr } = await millrace(['explain', '--follow', '2', server.url]);
  assert.match(
    stderr,
    /^millrace: --follow is not supported: .*the URL that the redirection leads to/,
  );
});
