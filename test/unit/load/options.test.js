// What load() understands of its options: the plan that they become.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { load } from 'millrace';
import { buildPlan } from '#internal/load/plan/plan.js';
import { countArrivals } from '#internal/load/plan/schedule.js';
import { parseUrl } from '#internal/load/requests/url.js';
import {
  parseBytes,
  parseCount,
  parseDuration,
  parseFlagDuration,
  parseRate,
} from '#internal/validation/units.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-options-'));
after(() => rmSync(folder, { recursive: true }));

const url = 'http://127.0.0.1:8080/';
const any = { min: 0, max: 1e12 };

function file(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function headersOf({ native }, request = 0) {
  return Object.fromEntries(
    native.requests[request].headers.map(({ name, value }) => [name, value]),
  );
}

test('durations are read', () => {
  const cases = [
    [250, 250],
    ['500ms', 500],
    ['10s', 10_000],
    ['1.5s', 1500],
    ['1m30s', 90_000],
    ['2h', 7_200_000],
    ['100us', 0.1],
  ];
  for (const [given, ms] of cases) assert.equal(parseDuration(given, 'x'), ms, String(given));
  for (const given of ['', 'abc', '10x', '-1', '1s5', '10 s', -1, Number.NaN, Infinity]) {
    assert.throws(
      () => parseDuration(given, 'warmup'),
      /^MillraceError: warmup must be a duration such as 500ms/,
    );
  }
});

test('digits alone are refused as text of the API, and are seconds in a flag', async () => {
  for (const name of ['duration', 'timeout', 'connectTimeout', 'warmup', 'thinkTime']) {
    await assert.rejects(load({ url, [name]: '10' }), {
      code: 'ERR_MILLRACE_USAGE',
      message: `${name} needs a unit, as in '10s' or '10ms' (got '10'; a number without quotes is milliseconds)`,
    });
  }
  await assert.rejects(load({ url, stages: [{ duration: '0.5', rate: 1 }] }), {
    message: /^stages\[0\]\.duration needs a unit, as in '0\.5s'/,
  });
  assert.equal(parseFlagDuration('10', '-d'), 10_000);
  assert.equal(parseFlagDuration('0.5', '-d'), 500);
  assert.equal(parseFlagDuration('1m30s', '-d'), 90_000);
  assert.throws(
    () => parseFlagDuration('ten', '-d'),
    /^MillraceError: -d must be a duration .* \(got ten\)$/,
  );
});

test('examples in the message about a count lie within its range', () => {
  const refused = (max) => () => parseCount('x', 'n', { min: 1, max });
  assert.throws(refused(10), { message: "n must be a whole number from 1 to 10 (got 'x')" });
  assert.throws(refused(100), /from 1 to 100, such as 50 \(got 'x'\)$/);
  assert.throws(refused(1e6), /from 1 to 1000000, such as 50, 10k, 1M \(got 'x'\)$/);
});

test('counts, rates and sizes are read', () => {
  assert.deepEqual(
    ['400', '10k', '1.5k', '1M', '2g'].map((text) => parseCount(text, 'x', any)),
    [400, 10_000, 1500, 1_000_000, 2_000_000_000],
  );
  for (const given of ['', 'k', '1.5', '-1', '1kk', 1.5]) {
    assert.throws(() => parseCount(given, 'x', any), { code: 'ERR_MILLRACE_USAGE' });
  }
  assert.deepEqual(
    ['1000', '10k', '0.5', '50/1s', '50/s', '120/m', '10/100ms'].map((text) =>
      parseRate(text, 'x', any),
    ),
    [1000, 10_000, 0.5, 50, 50, 2, 100],
  );
  for (const given of ['', '/s', '50/', '50/0s', '1/1/1', 'fast', -1]) {
    assert.throws(() => parseRate(given, 'x', any), { code: 'ERR_MILLRACE_USAGE' }, String(given));
  }
  assert.deepEqual(
    ['1000', '16k', '64KiB', '1MB', '10b'].map((text) => parseBytes(text, 'x')),
    [1000, 16_000, 65_536, 1_000_000, 10],
  );
  assert.throws(
    () => parseBytes('1 MB', 'size'),
    /size must be a size in bytes, .* \(got '1 MB'\)/,
  );
});

test('a run is closed by default, and its plan contains every default', async () => {
  const { summary, native, names } = await buildPlan({ url, seed: 7 });
  assert.equal(native.seed, 7);
  assert.deepEqual(names, ['GET /']);
  assert.deepEqual(summary, {
    model: 'closed',
    targets: [{ name: 'GET /', method: 'GET', url, weight: null, bodyBytes: 0 }],
    order: 'in-turn',
    connections: 10,
    initialConnections: 10,
    connectionStages: [],
    localAddresses: [],
    threads: 1,
    pipelining: 1,
    follow: 0,
    thinkTimeMs: 0,
    rate: null,
    arrivals: null,
    stages: [],
    maxPending: null,
    durationMs: 10_000,
    requests: null,
    warmupMs: 0,
    httpVersion: '1.1',
    connection: 'keep-alive',
    handshake: null,
    verifyCertificate: null,
    timeoutMs: 10_000,
    connectTimeoutMs: 3000,
    expect: ['1xx', '2xx', '3xx'],
    command: null,
    seed: 7,
  });
  assert.equal(native.startRate, undefined);
  assert.equal(native.closeConnections, false);
  assert.deepEqual(native.origins, [{ host: '127.0.0.1', port: 8080, tls: false }]);
});

test('URLs and header fields may be objects of the platform', async () => {
  const fields = new Headers([
    ['X-One', '1'],
    ['Set-Cookie', 'a=1'],
    ['Set-Cookie', 'b=2'],
  ]);
  for (const headers of [fields, new Map(fields), [...fields]]) {
    const { native } = await buildPlan({ url: new URL('/a?b=c', url), headers });
    const [{ target, headers: sent }] = native.requests;
    assert.equal(target, '/a?b=c');
    const own = sent.filter(({ name }) => /^(x-one|set-cookie)$/i.test(name));
    const values = own.map(({ value }) => value);
    assert.deepEqual(
      values.toSorted(),
      headers instanceof Map ? ['1', 'b=2'] : ['1', 'a=1', 'b=2'],
    );
  }
  const targets = [{ url: new URL('/x', url), headers: fields }, { url: `${url}y` }];
  const { summary } = await buildPlan({ targets });
  assert.deepEqual(
    summary.targets.map((target) => target.url),
    [`${url}x`, `${url}y`],
  );
  const absent = await buildPlan({ url, headers: { 'x-one': undefined, 'x-two': '2' } });
  assert.deepEqual(Object.keys(headersOf(absent)).slice(3), ['x-two']);
  const two = await buildPlan({ url: [new URL(url), `${url}z`] });
  assert.equal(two.native.requests.length, 2);
});

test('stages of connections begin at one per thread, and their maximum is the number', async () => {
  const connectionStages = [
    { duration: '2s', connections: 50 },
    { duration: 1000, connections: '4' },
  ];
  const { summary, native } = await buildPlan({ url, threads: 2, connectionStages });
  const stages = [
    { durationMs: 2000, connections: 50 },
    { durationMs: 1000, connections: 4 },
  ];
  assert.deepEqual([summary.connectionStages, native.connectionStages], [stages, stages]);
  assert.deepEqual([summary.connections, summary.initialConnections], [50, 2]);
  assert.equal(summary.durationMs, 3000);
  const from = await buildPlan({ url, connections: 80, duration: 500, connectionStages });
  assert.deepEqual([from.summary.connections, from.summary.initialConnections], [80, 80]);
  assert.equal(from.summary.durationMs, 500);
});

test('local addresses are kept in their order', async () => {
  const { native } = await buildPlan({ url, localAddress: ['127.0.0.2', '::1'] });
  assert.deepEqual(native.localAddresses, ['127.0.0.2', '::1']);
  assert.deepEqual((await buildPlan({ url, localAddress: '127.0.0.2' })).native.localAddresses, [
    '127.0.0.2',
  ]);
});

for (const [options, message] of [
  [{ localAddress: 'eth0' }, /^localAddress must be an IP address of this host \(got 'eth0'\)$/],
  [{ localAddress: '127.0.0.2', socketPath: '/x' }, /^localAddress cannot be combined with socket/],
  [
    { rate: 5, connectionStages: [{ duration: 1, connections: 5 }] },
    /^connectionStages cannot be combined with a rate: /,
  ],
  [
    { threads: 3, connectionStages: [{ duration: 1, connections: 2 }] },
    /^connectionStages\[0\]\.connections must be a whole number from 3 to /,
  ],
]) {
  test(`connections are refused: ${message}`, async () => {
    await assert.rejects(buildPlan({ url, ...options }), { code: 'ERR_MILLRACE_USAGE', message });
  });
}

test('a rate makes the run open', async () => {
  const { summary, native } = await buildPlan({ url, rate: '50/1s', threads: 2 });
  assert.equal(summary.model, 'open');
  assert.equal(summary.rate, 50);
  assert.equal(summary.arrivals, 'constant');
  assert.equal(summary.maxPending, 100_000);
  assert.equal(summary.connections, 1000);
  assert.equal(summary.initialConnections, 10);
  assert.equal(native.startRate, 50);
  const given = await buildPlan({ url, rate: 50, connections: 100 });
  assert.equal(given.summary.initialConnections, 100);
});

test('stages make the run open and give its length', async () => {
  const stages = [
    { duration: '10s', rate: 100 },
    { duration: '20s', rate: '1k' },
  ];
  const { summary } = await buildPlan({ url, stages });
  assert.equal(summary.model, 'open');
  assert.equal(summary.durationMs, 30_000);
  assert.deepEqual(summary.stages, [
    { durationMs: 10_000, rate: 100 },
    { durationMs: 20_000, rate: 1000 },
  ]);
  assert.equal(countArrivals(summary, 5000), 125);
  assert.equal(countArrivals(summary, 10_000), 500);
  assert.equal(countArrivals(summary, 30_000), 500 + 11_000);
  assert.equal(countArrivals(summary, 31_000), 500 + 11_000 + 1000);
  const step = { rate: 10, stages: [{ durationMs: 0, rate: 100 }] };
  assert.equal(countArrivals(step, 1000), 100);
});

test('counts may be text', async () => {
  const stages = [{ duration: '1s', rate: '1k' }];
  const counts = { connections: '1k', threads: '2', pipelining: '3', maxPending: '10k' };
  const { summary } = await buildPlan({ url, stages, ...counts });
  const { connections, threads, pipelining, maxPending } = summary;
  assert.deepEqual([connections, threads, pipelining, maxPending], [1000, 2, 3, 10_000]);
});

test('a number of requests ends the run, and no more connections are opened', async () => {
  const { summary } = await buildPlan({ url, requests: '3', connections: 50, threads: 4 });
  assert.equal(summary.requests, 3);
  assert.equal(summary.durationMs, null);
  assert.equal(summary.connections, 3);
  assert.equal(summary.threads, 3);
});

test('the handshake of TLS is full unless sessions are resumed', async () => {
  const https = 'https://127.0.0.1/';
  const plan = async (options) => (await buildPlan({ url: https, ...options })).summary;
  assert.equal((await plan({})).connection, 'keep-alive');
  assert.equal((await plan({})).handshake, 'full');
  assert.equal((await plan({})).verifyCertificate, true);
  const resumed = { connection: 'close', handshake: 'resume' };
  assert.equal((await plan(resumed)).handshake, 'resume');
  assert.equal((await plan({ connection: 'close' })).handshake, 'full');
  assert.equal((await plan({ insecure: true })).verifyCertificate, false);
});

test('URLs are read', () => {
  const read = (text) => parseUrl(text, 'URL');
  const cases = [
    ['localhost:3000', { host: 'localhost', port: 3000, target: '/', authority: 'localhost:3000' }],
    ['http://h', { host: 'h', port: 80, target: '/', authority: 'h', tls: false }],
    ['https://h:443/a?b=c#d', { port: 443, target: '/a?b=c', authority: 'h', tls: true }],
    ['http://h?q=1', { target: '/?q=1' }],
    ['http://[::1]:8080/x', { host: '::1', port: 8080, authority: '[::1]:8080' }],
    ['HTTP://EXAMPLE.com/A', { host: 'example.com', target: '/A' }],
    ['http://bücher.example/ü ö', { host: 'xn--bcher-kva.example', target: '/%C3%BC%20%C3%B6' }],
    ['http://h/a/../b//c', { target: '/a/../b//c' }],
    [
      'http://h/{{csv:my file.csv:a#b}}?n={{seq}}#x',
      { target: '/{{csv:my file.csv:a#b}}?n={{seq}}' },
    ],
    ['unix:/run/app.sock', { unixPath: '/run/app.sock', target: '/', authority: 'localhost' }],
    ['unix:/run/app.sock:/a?b=1', { unixPath: '/run/app.sock', target: '/a?b=1' }],
    ['http://me:p%40ss@h/', { authority: 'h', authorization: `Basic ${btoa('me:p@ss')}` }],
  ];
  for (const [text, expected] of cases) {
    const location = read(text);
    for (const [field, value] of Object.entries(expected)) {
      assert.equal(location[field], value, `${text}: ${field}`);
    }
  }
  for (const text of [
    '',
    'http://',
    'ftp://h/',
    'http://h:99999/',
    'http://h:0/',
    'http://a b/',
    '/x',
    'unix:',
  ]) {
    assert.throws(() => read(text), /^MillraceError: URL: '.*' is not a URL to load: .*; use /);
  }
});

test('headers of the user take precedence, and those of the engine are removed', async () => {
  const plain = await buildPlan({ url });
  assert.deepEqual(Object.keys(headersOf(plain)), ['Host', 'User-Agent', 'Accept']);
  assert.match(headersOf(plain)['User-Agent'], /^millrace\/\d/);

  const own = await buildPlan({
    url: 'http://user:pw@h/',
    headers: { host: 'other', ACCEPT: 'text/html', Authorization: 'Bearer x', 'X-Two': ['a', 'b'] },
  });
  assert.deepEqual(
    own.native.requests[0].headers.map(({ name, value }) => `${name}: ${value}`).slice(1),
    ['host: other', 'ACCEPT: text/html', 'Authorization: Bearer x', 'X-Two: a', 'X-Two: b'],
  );
  const credentials = await buildPlan({ url: 'http://user:pw@h/' });
  assert.equal(headersOf(credentials).Authorization, `Basic ${btoa('user:pw')}`);
  assert.equal(credentials.summary.targets[0].url, 'http://h/');

  const framed = await buildPlan({
    url,
    body: 'hello',
    headers: { 'Content-Length': '5', Connection: 'keep-alive' },
  });
  assert.deepEqual(Object.keys(headersOf(framed)), ['Host', 'User-Agent', 'Accept']);
  const close = await buildPlan({ url, headers: [['connection', 'Close']] });
  assert.equal(close.summary.connection, 'close');
  assert.equal(headersOf(close).connection, undefined);
});

test('bodies and methods are read', async () => {
  const path = file('body.bin', 'from a file');
  const request = async (options) => (await buildPlan({ url, ...options })).native.requests[0];
  assert.equal((await request({})).body, undefined);
  assert.equal((await request({ body: 'hé' })).body.toString(), 'hé');
  assert.equal((await request({ body: 'x' })).method, 'POST');
  assert.equal((await request({ body: 'x', method: 'put' })).method, 'PUT');
  assert.equal((await request({ body: new Uint8Array([1, 2]) })).body.length, 2);
  assert.equal((await request({ bodyFile: path })).body.toString(), 'from a file');
  assert.equal((await request({ method: 'POST' })).body.length, 0, 'says Content-Length: 0');
});

test('each origin of several URLs occurs once', async () => {
  const { native, summary } = await buildPlan({ url: ['http://a/1', 'http://b/', 'http://a/2'] });
  assert.deepEqual(
    native.origins.map(({ host }) => host),
    ['a', 'b'],
  );
  assert.deepEqual(
    native.requests.map(({ origin }) => origin),
    [0, 1, 0],
  );
  assert.equal(summary.order, 'in-turn');
});
