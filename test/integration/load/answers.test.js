// What a run says about the answers: which count as a success, redirections, the first failing one of each kind, and that no
// secret is printed or stored.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from 'millrace';
import { explainLine } from '#internal/cli/explain-line.js';
import { findFreePort } from '#internal/process/listening/free-port.js';
import { assertAddsUp } from '../../fixtures/truth/accounting.js';
import { millrace, millraceJson } from '../../fixtures/truth/cli.js';
import { raw, response } from '../../fixtures/truth/responses.js';
import { truthServer } from '../../fixtures/truth/server.js';

const OK = response();

/** Warnings of a result by their ids. */
function warning({ warnings }, id) {
  return warnings.find((it) => it.id === id)?.message;
}

test('expect accepts a status, a class, a range or a list', async (t) => {
  const statuses = [200, 204, 301, 404, 503];
  const server = await truthServer(t, ({ index }) =>
    response('', { status: statuses[index % statuses.length] }),
  );
  const okOf = async (expect) => {
    const options = { url: server.url, requests: 50, connections: 1, ...(expect && { expect }) };
    const result = await load(options);
    assertAddsUp(result);
    return [result.requests.ok, result.requests.statusErrors, result.plan.expect];
  };
  assert.deepEqual(await okOf(), [30, 20, ['1xx', '2xx', '3xx']]);
  assert.deepEqual(await okOf('2xx'), [20, 30, ['2xx']]);
  assert.deepEqual(await okOf(['200', '3XX,404']), [30, 20, ['200', '3xx', '404']]);
  assert.deepEqual(await okOf([200, 503]), [20, 30, ['200', '503']]);
  assert.deepEqual(await okOf('200-203'), [10, 40, ['200-203']]);
  for (const expect of ['2x', '', '1000', '300-200', 20]) {
    await assert.rejects(load({ url: server.url, expect }), {
      code: 'ERR_MILLRACE_USAGE',
      message: /^expect must be statuses, classes or ranges, such as '2xx' .* \(got '.*'\)$/,
    });
  }
});

test('--expect makes a run fail that gets a login page', async (t) => {
  const location = 'Location: https://id.example.org/login?access_token=abcdefgh&next=%2F';
  const server = await truthServer(t, () => response('', { status: 302, headers: [location] }));
  const run = ['-n', '40', '-c', '2', server.url];
  const [told, expected] = await Promise.all([
    millraceJson(run),
    millraceJson(['--expect', '2xx', ...run]),
  ]);
  assert.equal(told.code, 0);
  assert.match(
    warning(told.result, 'redirected'),
    /^100 % of the responses were redirections \(302 to https:\/\/id\.example\.org\/login\?access_token=\*\*\*&next=%2F\)/,
  );
  assert.deepEqual(told.result.failingResponses, []);
  assert.equal(expected.code, 3, 'no request succeeded');
  assert.match(
    warning(expected.result, 'status-errors'),
    /a status that was not expected: 302 \(40\)/,
  );
  assert.match(warning(expected.result, 'redirected'), /login/);
  assert.equal(expected.result.failingResponses[0].status, 302);
});

test('half of the responses may be redirections without a warning, and any number of expected ones', async (t) => {
  const server = await truthServer(t, ({ index }) =>
    response('', { status: index % 2 === 0 ? 307 : 200, headers: ['Location: /b'] }),
  );
  const half = await load({ url: server.url, requests: 20, connections: 1 });
  assert.equal(warning(half, 'redirected'), undefined);
  const always = await truthServer(t, () => response('', { status: 303 }));
  const asked = await load({ url: always.url, requests: 20, connections: 1, expect: 303 });
  assert.equal(warning(asked, 'redirected'), undefined);
  const unsaid = await load({ url: always.url, requests: 20, connections: 1 });
  assert.match(warning(unsaid, 'redirected'), /redirections \(303\)/, 'without a Location');
});

test('the first response of each status and error is kept: in one read, in parts, in chunks, cut short', async (t) => {
  const content = `first of them ${'x'.repeat(3000)}`;
  const answers = [
    () => OK,
    () => response(content, { status: 500, headers: ['X-Request: 1'] }),
    () => response('second of them', { status: 500 }),
    () => ({
      parts: [
        raw('HTTP/1.1 103 Early Hints', '', 'HTTP/1.1 404 Not '),
        raw('Found', 'Transfer-Encoding: chunked', '', '5;a=b', 'no su'),
        raw('', '8', 'ch thing', '0', '', ''),
      ],
      pause: 5,
    }),
    () => response(Buffer.from([1, 0, 2, 255]).toString('latin1'), { status: 400 }),
    () => ({ parts: [raw('HTTP/1.1 200 OK', 'Content-Length: 9', '', 'half')], ending: 'end' }),
    () => raw('HTTP/1.1 200 OK', 'Content-Length: nine', '', 'protocol'),
    () => ({ parts: [raw('HTTP/1.1 200 OK', 'Content-')], ending: 'hang' }),
  ];
  const server = await truthServer(t, ({ index }) => (answers[index] ?? answers[0])());
  const result = await load({
    url: `${server.url}{{seq}}`,
    requests: 12,
    connections: 1,
    timeout: 200,
  });
  assertAddsUp(result);
  const kept = result.failingResponses.map(({ status, error, head, body, bodyTruncated }) => [
    status ?? error,
    ...[head, body, bodyTruncated],
  ]);
  const request = { method: 'GET', url: `${server.url}{{seq}}` };
  for (const it of result.failingResponses) assert.deepEqual(it.request, request);
  assert.deepEqual(kept, [
    [
      500,
      `HTTP/1.1 500 Word\nX-Request: 1\nContent-Length: ${content.length}`,
      content.slice(0, 1024),
      true,
    ],
    [404, 'HTTP/1.1 404 Not Found\nTransfer-Encoding: chunked', 'no such thing', false],
    [400, 'HTTP/1.1 400 Word\nContent-Length: 4', '(4 bytes that are not text)', false],
    ['closed-early', 'HTTP/1.1 200 OK\nContent-Length: 9', 'half', false],
    ['protocol', 'HTTP/1.1 200 OK\nContent-Length: nine', 'protocol', false],
    ['timeout', 'HTTP/1.1 200 OK\nContent-', '', false],
  ]);
});

test('several threads keep one response of each kind, and none of the warm-up and of successes', async (t) => {
  const server = await truthServer(t, ({ target }) =>
    target === '/fail' ? response('no', { status: 503 }) : OK,
  );
  const fails = { url: `${server.url}fail`, connections: 4, threads: 2 };
  const { failingResponses } = await load({ ...fails, requests: 100, warmup: 100 });
  assert.deepEqual(
    failingResponses.map(({ status, body }) => [status, body]),
    [[503, 'no']],
  );
  const fine = await load({ url: server.url, requests: 100 });
  assert.deepEqual(fine.failingResponses, []);
});

test('secrets in command lines are masked in the plan and in the line that explains the load', async () => {
  const server =
    "require('http').createServer((q, s) => s.end('ok')).listen(Number(process.argv[1]), '127.0.0.1')";
  const port = await findFreePort();
  const { stdout, code } = await millrace([
    ...[
      '-d',
      '300ms',
      '--json',
      '-H',
      'Authorization: Bearer h3ader-value',
      `http://127.0.0.1:${port}/`,
    ],
    ...['--', process.execPath, '-e', server, String(port), '--password', 'p4ssword-value'],
    ...['API_TOKEN=t0ken-value', 'postgres://u:db-passw0rd@h/db'],
  ]);
  assert.equal(code, 0);
  for (const secret of ['h3ader-value', 'p4ssword-value', 't0ken-value', 'db-passw0rd']) {
    assert.ok(!stdout.includes(secret), secret);
  }
  assert.deepEqual(JSON.parse(stdout).plan.command.slice(-4), [
    '--password',
    '***',
    'API_TOKEN=***',
    'postgres://***@h/db',
  ]);
  assert.equal(
    explainLine(['-H', 'Cookie: a=c00kie-value', '--passphrase', 'phr4se', 'h?token=qu3ry']),
    "npx millrace explain -H 'Cookie: ***' --passphrase '***' 'h?token=***'",
  );
});

test('secrets are masked in report, page, JSON and messages, also where a server repeats them', async (t) => {
  const secrets = {
    bearer: 'b34r3r-value',
    cookie: 'c00kie-value',
    key: 'k3y-value-1',
    user: 'us3rname-1',
    password: 'p4ssw0rd-1',
    query: 'qu3ry-value',
    given: 'g1ven-by-server',
    json: 'js0n-value-1',
  };
  const body = JSON.stringify({
    message: `token ${secrets.bearer} or ${secrets.cookie} is not known, nor ${secrets.query}`,
    password: secrets.json,
    next: `http://x:${secrets.given}@h/?client_secret=${secrets.given}`,
  });
  const headers = [
    `Set-Cookie: sid=${secrets.given}; Path=/`,
    `Location: /a?sig=${secrets.given}`,
    `X-Api-Key: ${secrets.key}`,
    `X-Echo: ${secrets.password}`,
  ];
  const server = await truthServer(t, ({ method }) =>
    method === 'POST' ? OK : response(body, { status: 401, headers }),
  );
  const page = join(tmpdir(), `millrace-secrets-${process.pid}.html`);
  const authority = server.url.replace('http://', `http://${secrets.user}:${secrets.password}@`);
  const flags = [
    ...['-n', '5', '-H', `X-Auth-Token: ${secrets.bearer}`, '-H', `X-Api-Key: ${secrets.key}`],
    ...['-H', `Cookie: a=${secrets.cookie}; b=1`, `${authority}a?token=${secrets.query}&page=2`],
  ];
  const [text, json, noColon, noPort, noted] = await Promise.all([
    millrace([...flags, '--html', page]),
    millraceJson(flags),
    millrace(['-H', `Authorization Bearer ${secrets.bearer}`, 'h']),
    millrace([`http://${secrets.user}:${secrets.password}@h:99999/`]),
    millrace(['-n', '1', '-d', `{"password":"${secrets.json}"}`, server.url]),
  ]);
  const [shown] = json.result.failingResponses;
  assert.match(shown.head, /^Set-Cookie: sid=\*\*\*; Path=\/$/m);
  assert.match(shown.head, /^Location: \/a\?sig=\*\*\*$/m);
  assert.match(shown.body, /token \*\*\* or \*\*\* is not known, nor \*\*\*/);
  assert.match(json.result.plan.targets[0].url, /\/a\?token=\*\*\*&page=2$/);
  assert.match(noted.stdout, /^note: -d '\{"password":"\*\*\*"\}' is taken as --body/m);
  assert.match(text.stdout, /^401 +first response, to GET http/m);
  const all = { text, json: JSON.stringify(json), page: readFileSync(page, 'utf8') };
  Object.assign(all, { noColon, noPort, noted });
  for (const [where, what] of Object.entries(all)) {
    const written = typeof what === 'string' ? what : what.stdout + what.stderr;
    for (const [name, value] of Object.entries(secrets)) {
      assert.ok(!written.includes(value), `${name} in ${where}: ${written.slice(0, 3000)}`);
    }
  }
});

test('secrets are masked where servers repeat bodies and values of tables, in failed commands and in URLs', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-secrets-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const table = join(folder, 'users.csv');
  writeFileSync(table, 'token\nrow-secret-1\nrow-secret-2\n');
  const echo = await truthServer(t, (request) =>
    response(`not ${request.header('authorization')}\n${request.body}`, { status: 422 }),
  );
  const body = '<a><password>body-secret</password></a>';
  const header = ['-H', `Authorization: Bearer {{csv:${table}:token}}`];
  const image = 'QUJD'.repeat(25_000);
  const fails = [process.execPath, '-e', 'process.exit(3)', '--password', 'flag-secret'];
  const outputs = await Promise.all([
    millraceJson(['-n', '4', ...header, '-b', body, echo.url]),
    millrace(['--', ...fails]),
    millrace(['--', `DB_PASSWORD='line secret' ${fails.slice(0, 2).join(' ')} 'process.exit(3)'`]),
    millrace(['user:url-secret@127.0.0.1:99999/']),
    millrace(["http://admin:p'url-secret@h:99999/"]),
    millrace(['-n', '1', '-d', `{"image":"${image}","password":"body-secret"}`, echo.url]),
  ]);
  const written = outputs.map((it) => JSON.stringify(it)).join('\n');
  assert.deepEqual(written.match(/\S*(?:row|body|flag|line|url)[- ]secret\S*/g), null);
  assert.match(outputs[0].result.failingResponses[0].body, /Bearer \*\*\*[\s\S]*<password>\*\*\*</);
  assert.match(outputs[1].stderr, /--password \*\*\*` ended with exit code/);
  assert.match(outputs[2].stderr, /DB_PASSWORD=\*\*\* /);
});
