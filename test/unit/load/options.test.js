// What load() understands of its options: the plan that they become, and the one line for what cannot be used. One file, though
// long: one table of options.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { load, MillraceError } from 'millrace';
import { buildPlan } from '#internal/load/plan/plan.js';
import { countArrivals } from '#internal/load/plan/schedule.js';
import { parseCsv } from '#internal/load/requests/csv.js';
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

test('targets have weights, and those without a host go to the URL', async () => {
  const { native, summary } = await buildPlan({
    url: 'http://h:81/',
    headers: { 'X-Run': '1', 'X-Both': 'run' },
    targets: [
      { url: '/a', weight: 3 },
      { url: 'http://h:82/b', method: 'DELETE', headers: { 'x-both': 'target' } },
    ],
  });
  assert.equal(summary.order, 'weighted');
  assert.deepEqual(
    summary.targets.map(({ method, url, weight }) => [method, url, weight]),
    [
      ['GET', 'http://h:81/a', 3],
      ['DELETE', 'http://h:82/b', 1],
    ],
  );
  assert.deepEqual(native.requests[1].headers.slice(3), [
    { name: 'x-both', value: 'target' },
    { name: 'X-Run', value: '1' },
  ]);
});

test("vegeta's text targets are read", async () => {
  const body = file('order.json', '{"a":1}');
  const targetsFile = file(
    'targets.txt',
    `# comment
GET http://h/1
X-A: b
X-A: c

POST http://h/2?x={{csv:a b.csv:c}}
Content-Type: application/json
@${body}
HEAD http://h/3\r
`,
  );
  const { native } = await buildPlan({ targetsFile, placeholders: false });
  assert.deepEqual(
    native.requests.map(({ method, target }) => [method, target]),
    [
      ['GET', '/1'],
      ['POST', '/2?x={{csv:a b.csv:c}}'],
      ['HEAD', '/3'],
    ],
  );
  assert.deepEqual(
    native.requests[0].headers.slice(3).map(({ value }) => value),
    ['b', 'c'],
  );
  assert.equal(native.requests[1].body.toString(), '{"a":1}');
});

test("vegeta's JSON targets are read", async () => {
  const targetsFile = file(
    'targets.json',
    `{"method":"GET","url":"http://h/1","header":{"X-A":["b"]}}

{"method":"POST","url":"http://h/2","body":"${btoa('hello')}","weight":2}`,
  );
  const { native, summary } = await buildPlan({ targetsFile });
  assert.equal(native.requests[0].headers.at(-1).value, 'b');
  assert.equal(native.requests[1].body.toString(), 'hello');
  assert.deepEqual(
    summary.targets.map(({ weight }) => weight),
    [1, 2],
  );
});

test('a list without a status and a command with a zero byte are refused in one line', async () => {
  await assert.rejects(load({ url: 'h', expect: [] }), {
    code: 'ERR_MILLRACE_USAGE',
    message: /^expect must be statuses, .* \(got an empty list\)$/,
  });
  for (const command of [['a\0b'], ['A=\0', 'node'], ['node', '\0']]) {
    await assert.rejects(load({ command }), {
      code: 'ERR_MILLRACE_COMMAND',
      message: /^cannot start a command with a zero byte in '.*\\x00.*'$/,
    });
  }
});

test('CSV is read by RFC 4180', () => {
  const { columns, rows } = parseCsv('id,text\r\n1,"a, ""b""\nc"\r\n2,\r\n', 'f.csv');
  assert.deepEqual(columns, ['id', 'text']);
  assert.deepEqual(rows, [
    ['1', 'a, "b"\nc'],
    ['2', ''],
  ]);
  assert.throws(
    () => parseCsv('a,b\n1,"x\ny"\n2\n', 'f.csv'),
    /f\.csv:4 must have 2 fields, as the first line has \(got 1\)/,
  );
  assert.throws(() => parseCsv('a\n"x', 'f.csv'), /f\.csv:2: a quote/);
  assert.throws(() => parseCsv('a\nb"x"\n', 'f.csv'), /f\.csv:2: a quote/);
  assert.throws(() => parseCsv('a\n"b"x\n', 'f.csv'), /f\.csv:2: a quote/);
  const old = parseCsv('id,text\r1,"a\rb"\r\r2,""', 'f.csv');
  assert.deepEqual(old.rows, [
    ['1', 'a\rb'],
    ['2', ''],
  ]);
  const [[long]] = parseCsv(`a\n"${'x""'.repeat(4_000_000)}"`, 'f.csv').rows;
  assert.equal(long.length, 8_000_000, 'a long field in quotes');
  assert.throws(() => parseCsv('a\n', 'f.csv'), /must have a line of column names/);
});

const REFUSED = [
  [{}, /^url, targets, targetsFile or command is needed/],
  [{ url, conections: 5 }, /unknown option 'conections'; did you mean 'connections'\?/],
  [{ url: 'nope://x' }, /the scheme nope:\/\/ is not known/],
  [{ url, duration: 'long' }, /duration must be a duration such as .* \(got 'long'\)/],
  [{ url, duration: 0 }, /duration must be above 0 \(got 0\)/],
  [
    { url, duration: 0, warmup: '5s' },
    /duration must be above 0 \(got 0\): there is nothing to measure after the warm-up/,
  ],
  [{ url, connections: 0 }, /connections must be a whole number from 1.* \(got 0\)/],
  [{ url, connections: 2.5 }, /connections must be a whole number from 1 .* \(got 2.5\)/],
  [
    { url, connections: 2, threads: 4 },
    /connections must be at least 4, one for each of 4 threads \(got 2\)/,
  ],
  [
    { url: ['a', 'b'], connections: 1, rate: 10 },
    /connections must be at least 2, one for each of 1 thread and 2 servers \(got 1\)/,
  ],
  [{ url, requests: 0 }, /requests must be a whole number from 1 .* \(got 0\)/],
  [{ url, rate: 0 }, /rate must be above 0 \(got 0\)/],
  [{ url, rate: 'fast' }, /rate must be a rate from 0 .* \(got 'fast'\)/],
  [
    { url, stages: [{ duration: 'x', rate: 1 }] },
    /stages\[0\]\.duration must be a duration such as .* \(got 'x'\)/,
  ],
  [
    { url, pipelining: 4, connection: 'close' },
    /pipelining 4 cannot be combined with connection close/,
  ],
  [
    { url: 'https://h', pipelining: 4, connection: 'close', handshake: 'resume' },
    /pipelining 4 cannot be combined with connection close/,
  ],
  [
    { url, pipelining: 16, rate: 1, duration: '5s' },
    /pipelining must be at most 5 in a run of 5 arrivals \(got 16\)/,
  ],
  [
    { url, pipelining: 16, rate: 100, maxPending: 8 },
    /pipelining must be at most 8, the value of maxPending \(got 16\)/,
  ],
  [{ url, poisson: true }, /unknown option 'poisson'/],
  [{ url, amount: 5 }, /^unknown option 'amount'; it is called 'requests'$/],
  [{ url, requests: [{ path: '/' }] }, /^requests is a number; a list of them is 'targets'$/],
  [{ url, conditions: ['errors<1'] }, /^unknown option 'conditions'; it is called 'failOn'$/],
  [{ url, abortOnFail: 'errors<1' }, /^abortOnFail must be true or false \(got 'errors<1'\)$/],
  [{ url, abortOnFail: true }, /^abortOnFail needs failOn: /],
  [{ url, arrivals: 'poisson' }, /arrivals needs a rate or stages/],
  [{ url, rate: 5, arrivals: 'bursts' }, /arrivals must be constant or poisson.* \(got 'bursts'\)/],
  [{ url, rate: 5, thinkTime: '1s' }, /thinkTime cannot be combined with a rate/],
  [{ url, maxPending: 5 }, /maxPending needs a rate or stages/],
  [{ url, handshake: 'full' }, /^handshake needs an https:\/\/ URL/],
  [{ url, sni: 'x' }, /^sni needs an https:\/\/ URL/],
  [{ url: 'https://h', handshake: 'half' }, /handshake must be full or resume \(got 'half'\)/],
  [
    { url: 'https://h', tls: 'full' },
    /^unknown option 'tls'; it is handshake: 'full' or 'resume', with connection: 'close'/,
  ],
  [{ url: 'https://h', handshake: 'resume' }, /^handshake resume needs connection close: /],
  [{ url: 'https://h', certFile: 'c.pem' }, /cert file 'c.pem' cannot be read/],
  ...['ca', 'cert', 'key'].flatMap((name) => [
    ...[import.meta.filename, '', [], 1, [null]].map((value) => [
      { url: 'https://h', [name]: value },
      new RegExp(
        `^${name} must be PEM text or a Buffer, or a list of them; the option for a path is ${name}File$`,
      ),
    ]),
    [
      { url: 'https://h', [name]: '-----BEGIN ', [`${name}File`]: 'a' },
      new RegExp(`^${name} and ${name}File cannot be used together: remove one of them$`),
    ],
    [{ url: 'https://h', [`${name}File`]: 1 }, / must be the path of a file \(got 1\)$/],
    [
      { url, [`${name}File`]: 'a' },
      new RegExp(`^${name} needs an https:// URL, .* \\(got 'a'\\)$`),
    ],
    [{ url, [name]: Buffer.from('secret') }, / needs an https:.* \(got its contents\)$/],
  ]),
  [{ url, passphrase: 'x' }, /^passphrase needs an https:\/\/ URL/],
  [{ url: 'https://h', keyFile: 'k.pem' }, /key needs cert: /],
  [{ url: 'https://h', caFile: '/no/such/ca.pem' }, /ca file '.*' cannot be read: no such file/],
  [{ url, connection: 'often' }, /connection must be keep-alive or close \(got 'often'\)/],
  [{ url, body: 'a', bodyFile: 'b' }, /body cannot be combined with bodyFile/],
  [{ url, bodyFile: '/no/such/file' }, /body file '.*' cannot be read: no such file/],
  [{ url, bodyFile: folder }, /body file '.*' cannot be read: is a directory/],
  [{ url, method: 'GET IT' }, /method must be the name of a method .* \(got 'GET IT'\)/],
  [{ url, method: 'CONNECT' }, /method must be .* not CONNECT \(got 'CONNECT'\)/],
  [{ url, headers: { 'a b': 'c' } }, /the name of a header must consist of .* \(got 'a b'\)/],
  [
    { url, headers: { a: 'b\r\nc: d' } },
    /the value of a contains a character that a header cannot/,
  ],
  [
    { url, headers: { 'Transfer-Encoding': 'chunked' } },
    /Transfer-Encoding is not supported \(got chunked\)/,
  ],
  [
    { url, body: 'abc', headers: { 'Content-Length': '5' } },
    /Content-Length must be 3, .* \(got 5\)/,
  ],
  [
    { url, headers: { Connection: 'upgrade' } },
    /Connection must be close or keep-alive \(got upgrade\)/,
  ],
  [
    {
      url,
      headers: [
        ['Host', 'a'],
        ['host', 'b'],
      ],
    },
    /the header Host must occur once/,
  ],
  [
    { url, connection: 'keep-alive', headers: { Connection: 'close' } },
    /keep-alive cannot be combined with a header/,
  ],
  [{ targets: [] }, /targets must contain at least one target/],
  [{ targets: [{ url: '/x' }] }, /targets\[0\]: '\/x' is not a URL to load: it names no host/],
  [{ targets: [{ url, weight: 0 }] }, /targets\[0\]: weight must be a number above 0 \(got 0\)/],
  [{ url, targets: [{ url }] }, /cannot be combined with these targets: one URL is the server/],
  [
    { url: 'localhost:3000/api', targets: [{ url: '/x' }] },
    /^URL 'localhost:3000\/api' must have no path, .*: http:\/\/localhost:3000\/ is the server, or put the path into the targets$/,
  ],
  [
    { url: '/api', targets: [{ url: '/x' }], command: ['node'] },
    /^URL '\/api' must have no path, .*: leave it out, or put the path into the targets$/,
  ],
  [{ targets: [{ url }], targetsFile: 'x' }, /targets cannot be combined with targetsFile/],
  [{ targetsFile: '/no/such/file' }, /targets file '.*' cannot be read/],
  [{ url: 'unix:/a', socketPath: '/b' }, /a unix: URL cannot be combined with socketPath/],
  [{ url, timeout: 0 }, /timeout must be above 0 \(got 0\)/],
  [{ url, timeout: 'soon' }, /timeout must be a duration such as .* \(got 'soon'\)/],
  [{ url, connectTimeout: 'soon' }, /connectTimeout must be a duration such as .* \(got 'soon'\)/],
  [{ command: [] }, /command must name a program/],
  [{ command: '' }, /^command must name a program \(got ''\)$/],
  [{ command: 5 }, /^command must be text for the shell, or a list, .* \(got 5\)$/],
  [
    { command: ['node'], cwd: '/no/such/folder' },
    /^cwd must be a directory \(got '\/no\/such\/folder'\)$/,
  ],
  [{ command: ['node'], env: { A: 1 } }, /^env\.A must be text \(got 1\)$/],
  [{ command: ['node'], env: 'A=1' }, /^env must be an object of text \(got 'A=1'\)$/],
  [{ url, env: { A: '1' } }, /^env needs a command: a server that runs already keeps its own$/],
  [{ url, cwd: '.' }, /^cwd needs a command: /],
  [{ command: ['node'], socketPath: '/tmp/s' }, /a command cannot be combined with a Unix socket/],
  [
    { url, stages: [{ duration: '1s', rate: 5 }], warmup: '1s' },
    /warmup needs a rate \(-R\) to warm up at/,
  ],
  [{ url, pid: 2 ** 30 }, /pid must be the id of a running process \(got 1073741824\)/],
  [
    { targets: [{ url }, { url, headers: { connection: 'close' } }] },
    /Connection: close must be in all targets or in none \(got 1 of 2\)/,
  ],
];

/** What a program without types may pass. */
const WRONG_SHAPES = [
  [undefined, /^options must be an object \(got undefined\)/],
  [[], /^options must be an object \(got \[\]\)/],
  [{ url: 5 }, /^url must be text or a URL, or a list of them \(got 5\)/],
  [{ url: ['a', null] }, /^url must be text .* \(got \[ 'a', null \]\)/],
  [{ url, method: 5 }, /^method must be text \(got 5\)/],
  [{ url, body: 5 }, /^body must be text or a Uint8Array \(got 5\)/],
  [
    { url, headers: 5 },
    /^headers must be an object, a Headers, or pairs of name and value \(got 5\)/,
  ],
  [{ url, headers: null }, /^headers must be an object, .* \(got null\)/],
  [{ url, headers: ['ab'] }, /^headers must be an object, .* \(got \[ 'ab' \]\)/],
  [{ url, headers: new Set(['a']) }, /^headers must be an object, .* \(got Set\(1\) .*\)/],
  [{ url, headers: { a: 5 } }, /^headers: a must be text \(got 5\)$/],
  // An iterator is empty when it has been read once.
  [
    { url, headers: new Map([['a', 'b']]).entries() },
    /^headers must be an object, .*, which can be read again: \[\.\.\.iterator\] \(got .*Map.*\)$/,
  ],
  [
    { url, targets: [{ url, headers: [['a', 'b']].values() }] },
    /^targets\[0\]\.headers must be .* \[\.\.\.iterator\]/,
  ],
  [
    { url, headers: [[Symbol('a'), 'b']] },
    /^headers: the name of a header must .* \(got Symbol\(a\)\)/,
  ],
  [{ url, connections: {} }, /^connections must be a number, or text such as '10k' \(got \{\}\)/],
  [{ url, connections: null }, /^connections must be a number, .* \(got null\)/],
  [
    { url, duration: true },
    /^duration must be milliseconds, or text with a unit such as '10s' \(got true\)/,
  ],
  [{ url, rate: [5] }, /^rate must be a number, .* \(got \[ 5 \]\)/],
  [{ url, placeholders: 'no' }, /^placeholders must be true or false \(got 'no'\)/],
  [{ url, signal: {} }, /^signal must be an AbortSignal \(got \{\}\)/],
  [{ url, pid: 'x' }, /^pid must be a process id, or false \(got 'x'\)/],
  [{ command: ['node', 5] }, /^command\[1\] must be text \(got 5\)/],
  [{ targets: url }, /^targets must be a list of targets \(got 'http.*'\)/],
  [{ url, targets: [{}] }, /^targets\[0\] must be an object with a url \(got \{\}\)/],
  [{ targets: [{ url }, 5] }, /^targets\[1\] must be an object with a url \(got 5\)/],
  [
    { targets: [{ url, methd: 'PUT' }] },
    /^targets\[0\]: unknown field 'methd'; did you mean 'method'\?$/,
  ],
  [{ targets: [{ url, method: 5 }] }, /^targets\[0\]\.method must be text \(got 5\)/],
  [{ targets: [{ url, weight: '5' }] }, /^targets\[0\]\.weight must be a number \(got '5'\)/],
  [{ url, stages: 5 }, /^stages must be a list of stages \(got 5\)/],
  [
    { url, stages: [{ duration: 5 }] },
    /^stages\[0\] must be an object with.* \(got \{ duration: 5 \}\)/,
  ],
  [{ url, stages: [{ duration: 5, rate: 5, ramp: 1 }] }, /^stages\[0\]: unknown field 'ramp'$/],
];

for (const [options, message] of [...REFUSED, ...WRONG_SHAPES]) {
  test(`options are refused: ${message.source}`, async () => {
    const error = await load(options).then(
      () => assert.fail('accepted'),
      (error) => error,
    );
    assert.ok(error instanceof MillraceError, String(error));
    assert.equal(error.code, 'ERR_MILLRACE_USAGE');
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /\n/, 'one line');
  });
}

test('invalid lines of a targets file are refused with their position', async () => {
  const cases = [
    ['GET http://h/\nno colon here', /:2 must be 'Name: value' \(got 'no colon here'\)/],
    ['http://h/', /:1 must be METHOD URL \(got 'http:\/\/h\/'\)/],
    ['GET http://h/\n\nX-A: b', /:3 must be METHOD URL \(got 'X-A: b'\)/],
    ['GET http://h/\n\n# c\nGET ftp://h/', /:4: 'ftp:\/\/h\/' is not a URL/],
    ['POST http://h/\n@/no/such/file', /:2: body file '\/no\/such\/file' cannot be read/],
    ['{"method":"GET","url":"http://h/"}\n{"method":', /:2 must be one JSON object/],
    ['{"method":"GET"}', /:1 must have a method and a url/],
    [
      '{"method":"GET","url":"http://h/","headers":{}}',
      /:1: unknown field 'headers': use method, url, name, header, body or weight/,
    ],
    [
      '{"method":"GET","url":"http://h/","header":{"a":"b"}}',
      /:1: header must contain lists of text/,
    ],
    ['{"method":"GET","url":"http://h/","header":{"a":[5]}}', /:1: a must be text \(got 5\)/],
    ['{"method":"GET","url":"http://h/","weight":"5"}', /:1: weight must be a number \(got '5'\)/],
    ['{"method":"GET","url":"http://h/","body":"***"}', /:1: body must be base64/],
    ['# nothing\n', /contains no target/],
  ];
  for (const [text, message] of cases) {
    const targetsFile = file('bad.txt', text);
    await assert.rejects(load({ targetsFile }), (error) => {
      assert.equal(error.code, 'ERR_MILLRACE_USAGE');
      assert.match(error.message, message);
      return true;
    });
  }
});
