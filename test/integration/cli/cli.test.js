// The command line as a user meets it: flags of several tools' habits, exit codes, what goes to which stream.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startTestServer } from 'millrace';
import { findFreePort } from '#internal/process/listening/free-port.js';
import { findPortOwner } from '#internal/process/listening/port-owners.js';
import { inOneProcess } from '../../fixtures/cli/one-process.js';
import { retried } from '../../fixtures/retry.js';
import { isResult } from '../../fixtures/schemas.js';

const bin = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const noProcfs = process.platform !== 'linux' && 'needs /proc';
const folder = mkdtempSync(join(tmpdir(), 'millrace-cli-'));
const seen = [];
let url;
let server;

before(async () => {
  server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { method, headers } = request;
      seen.push({ method, url: request.url, headers, body: Buffer.concat(chunks).toString() });
      if (request.url === '/fail') response.statusCode = 503;
      if (request.url !== '/hang')
        setTimeout(() => response.end('ok'), request.url === '/slow' ? 200 : 0);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${server.address().port}/`;
});

after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

/** Runs the command line; what is written to either stream is text. */
function start(...args) {
  const child = spawn(process.execPath, [bin, ...args]);
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output.stderr += text;
  });
  const ended = once(child, 'close').then(([code]) => ({ code, ...output }));
  return { child, ended };
}

function millrace(...args) {
  return start(...args).ended;
}

const oneMore = inOneProcess();

/** Runs it with --json; the result is held against the schema. */
async function json(...args) {
  const { code, stdout, stderr } = await millrace('--json', '-d', '300ms', ...args);
  assert.notEqual(stdout, '', stderr);
  const result = JSON.parse(stdout);
  assert.ok(isResult(result), JSON.stringify(isResult.errors, null, 2));
  return { code, stderr, result };
}

async function requestFor(path, count = 1) {
  let left = count;
  for await (const [request] of on(server, 'request')) {
    if (request.url === path) left -= 1;
    if (left === 0) return;
  }
}

const BAD_INPUT = [
  [
    ['--conections', '5', 'h'],
    /^millrace: unknown flag '--conections'; did you mean --connections\?$/,
  ],
  [['-Q', 'h'], /^millrace: unknown flag '-Q'; run millrace --help for the list/],
  [
    ['htp://h'],
    /^millrace: URL: 'htp:\/\/h' is not a URL to load: the scheme htp:\/\/ is not known; use/,
  ],
  [['http://h:99999'], /'http:\/\/h:99999' is not a URL to load: 99999 is not a port/],
  [['lab', '--frob'], /unknown flag '--frob'; run millrace lab --help for the list/],
  [['explain', '--frob', 'h'], /unknown flag '--frob'; run millrace explain --help for the list/],
  [['lod'], /'lod' given; did you mean load\? A host of that name is http:\/\/lod\/$/],
  [
    ['-d', 'abc', 'h'],
    /^millrace: -d must be a duration such as 10 \(seconds\), 500ms, .* \(got abc\)$/,
  ],
  [['--duration=10x', 'h'], /^millrace: --duration must be a duration such as .* \(got 10x\)/],
  [['-c', '0', 'h'], /^millrace: -c must be a whole number from 1 .* \(got 0\)$/],
  [['-c2', '-t4', 'h'], /connections must be at least 4, one for each of 4 threads \(got 2\)/],
  [
    ['-p', '4', '--connection', 'close', 'h'],
    /pipelining 4 cannot be combined with connection close/,
  ],
  [
    ['-p', '4', '--tls', 'full', 'https://h'],
    /pipelining 4 cannot be combined with connection close/,
  ],
  [
    ['-R', '1', '-d', '5s', '-p', '16', 'h'],
    /pipelining must be at most 5 in a run of 5 arrivals \(got 16\)/,
  ],
  [
    ['-R', '100', '--max-pending', '8', '-p', '16', 'h'],
    /pipelining must be at most 8, the value of maxPending \(got 16\)/,
  ],
  [['-R', 'fast', 'h'], /^millrace: -R must be a rate from 0 .* \(got fast\)/],
  [['-b', '@/no/such/file', 'h'], /body file '\/no\/such\/file' cannot be read: no such file/],
  [['-b', 'a', '-i', 'b', 'h'], /body cannot be combined with bodyFile/],
  [
    ['-H', ':method: PUT', 'h'],
    /^millrace: headers: :method cannot be set as a header: it comes from the method$/,
  ],
  [['-H', 'no colon', 'h'], /^millrace: -H must be 'Name: value' \(got 'no colon'\)$/],
  [['--targets', '/no/such/file'], /targets file '\/no\/such\/file' cannot be read/],
  [['--tls', 'full', 'http://h'], /handshake needs an https:\/\/ URL/],
  [
    ['--connection', 'keep-alive', '--tls', 'full', 'https://h'],
    /--tls full cannot be combined with --connection keep-alive/,
  ],
  [['--tls', 'half', 'https://h'], /--tls must be keep-alive, resume or full \(got half\)/],
  [['--key', 'k.pem', 'https://h'], /key needs cert: /],
  [
    ['--warmup', '5s', '-d', '0', 'h'],
    /duration must be above 0 \(got 0\): there is nothing to measure/,
  ],
  [['-n', '0', 'h'], /^millrace: -n must be a whole number from 1 .* \(got 0\)$/],
  [['--stage', '30s', 'h'], /--stage must be TIME:RATE, such as 30s:100 \(got 30s\)/],
  [['--pid', 'x', 'h'], /--pid must be a whole number .* \(got x\)/],
  [
    ['--fail-on', 'p99<50', 'h'],
    /--fail-on must be a condition \(got 'p99<50'\): write 'p99<50ms'$/,
  ],
  [['-o', '/no/such/folder/file', 'h'], /'\/no\/such\/folder\/file' cannot be written/],
  [['-c'], /^millrace: -c needs a value: -c N$/],
  [['--json=yes', 'h'], /--json takes no value \(got 'yes'\)/],
  [['--'], /-- given without a command after it/],
  [
    ['-s', 'post.lua', 'h'],
    /^millrace: -s is not supported: scripts of other tools are not run; .*--targets/,
  ],
  [['--json', '-', 'h'], /^millrace: URL: '-' is not a URL to load/],
  [['-W', '5s', 'h'], /^millrace: -W is not supported: .*--warmup/],
  [['--on-port', 'h'], /^millrace: --on-port is not supported: .*-- node server\.js/],
  [['-keepalive=false', 'h'], /^millrace: -keepalive is not supported: .*--connection close/],
  [['--html', '-', 'h'], /^millrace: --html must be the name of a file \(got -\)$/],
  [['--stage', '5s:10', '--warmup', '1s', 'h'], /warmup needs a rate \(-R\) to warm up at/],
  [['-r', '5', 'h'], /^millrace: -r is not supported: .*-R/],
  [['help', 'conections'], /there is no flag 'conections'; did you mean --connections\?/],
  [['testserver', '--delay', 'long'], /--delay must be a duration such as .* \(got long\)/],
  [
    ['testserver', '--error-rate', '2'],
    /--error-rate must be a share from 0 to 1, or in % \(got 2\)/,
  ],
  [['testserver', 'x'], /testserver takes flags only \(got 'x'\)/],
  [['http://h/{{nothing}}'], /unknown placeholder .*nothing/],
];

describe('invalid command lines', () => {
  for (const [index, [args, message]] of BAD_INPUT.entries()) {
    test(`an invalid command line is refused in one line: ${args.join(' ')}`, async () => {
      // As a process of its own does, so does each.
      const { code, stdout, stderr } = await (index === 0 ? millrace : oneMore)(...args);
      assert.match(stderr.trimEnd(), message);
      assert.equal(stderr.trimEnd().split('\n').length, 1, 'one line');
      assert.equal(stdout, '');
      assert.equal(code, 2);
    });
  }
});

test('an invalid line of a targets file is named', async () => {
  const path = join(folder, 'bad-targets.txt');
  writeFileSync(path, 'GET http://h/\nno colon\n');
  const { code, stderr } = await millrace('--targets', path);
  assert.match(stderr, /bad-targets\.txt:2 must be 'Name: value' \(got 'no colon'\)/);
  assert.equal(code, 2);
});

test('the help fits a screen and lists every flag', async () => {
  const { code, stdout } = await millrace('--help');
  assert.equal(code, 0);
  const lines = stdout.trimEnd().split('\n');
  assert.ok(lines.length <= 50, `${lines.length} lines`);
  for (const line of lines) assert.ok(line.length <= 80, line);
  for (const flag of ['--connections', '--rate', '--stage', '--fail-on', '--pid', '--think-time']) {
    assert.ok(stdout.includes(flag), flag);
  }
  assert.equal((await oneMore('help')).stdout, stdout);
  assert.equal((await oneMore('load', '-c', '5', '--help')).stdout, stdout);
});

test('help FLAG describes one flag, by any of its names', async () => {
  const { code, stdout } = await oneMore('help', 'connections');
  assert.equal(code, 0);
  assert.match(stdout, /^-c, --connections N\n.*At least one per thread.*Default: 10/s);
  assert.equal((await oneMore('help', '-c')).stdout, stdout);
  assert.match((await oneMore('help', 'delay')).stdout, /every tenth request/);
});

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  );
  assert.equal((await millrace('--version')).stdout, `millrace ${version}\n`);
});

test('a command line of wrk works', async () => {
  const args = ['-t2', '-c4', '-H', 'X-Wrk: yes', '--latency', '--timeout', '2s', url];
  const { code, stderr, result } = await json(...args);
  assert.equal(code, 0, stderr);
  const { threads, connections, durationMs, timeoutMs, model } = result.plan;
  assert.deepEqual(
    { threads, connections, durationMs, timeoutMs, model },
    { threads: 2, connections: 4, durationMs: 300, timeoutMs: 2000, model: 'closed' },
  );
  assert.equal(seen.at(-1).headers['x-wrk'], 'yes');
});

test('a command line of autocannon works', async () => {
  const input = join(folder, 'body.json');
  writeFileSync(input, '{"from":"file"}');
  const args = ['-c', '2', '-w', '2', '-p', '2', '-m', 'PUT', '-i', input, '-a', '20', '-j', '-l'];
  const { code, result } = await json(...args, url.slice('http://'.length));
  assert.equal(code, 0);
  assert.equal(result.plan.pipelining, 2);
  assert.equal(result.plan.threads, 2);
  assert.equal(result.requests.sent, 20);
  const { method, body } = seen.at(-1);
  assert.deepEqual({ method, body }, { method: 'PUT', body: '{"from":"file"}' });
});

test('command lines of vegeta and hey work', async () => {
  const vegeta = await json(
    '-rate=100/1s',
    '-duration=200ms',
    '-connections=5',
    '-timeout=3s',
    url,
  );
  assert.equal(vegeta.result.plan.rate, 100);
  assert.equal(vegeta.result.plan.durationMs, 200);
  assert.equal(vegeta.result.plan.timeoutMs, 3000);
  const hey = await json('-z', '200ms', '-q', '50', '-X', 'DELETE', url);
  assert.equal(hey.result.plan.rate, 50);
  assert.equal(hey.result.plan.targets[0].method, 'DELETE');
});

test('values with another meaning in another tool are refused in one line with the right flag', async () => {
  const timeout = await json('-t', '7s', url);
  assert.equal(timeout.result.plan.timeoutMs, 7000);
  assert.equal(timeout.result.plan.threads, 1);
  assert.equal(timeout.stderr, 'note: -t 7s is taken as --timeout 7s; threads are -t N\n');

  const body = await json('-d', '{"a":1}', url);
  assert.match(body.stderr, /^note: -d '\{"a":1\}' is taken as --body/);
  assert.equal(seen.at(-1).body, '{"a":1}');
  assert.equal(seen.at(-1).method, 'POST');

  const type = await json('-T', 'application/json', '-b', '1', url);
  assert.match(type.stderr, /^note: -T application\/json is taken as -H/);
  assert.equal(seen.at(-1).headers['content-type'], 'application/json');

  const progress = await json('-n', url);
  assert.match(progress.stderr, /^note: -n without a number/);
  assert.equal(progress.result.plan.requests, null);

  const report = await millrace('-t', '7s', '-d', '200ms', url);
  assert.match(report.stdout, /-t 7s is taken as --timeout 7s/);
});

test('--json prints only the result, and -o and --html write files', async () => {
  const [output, html] = [join(folder, 'result.json'), join(folder, 'page.html')];
  const { code, result, stderr } = await json('-o', output, '--html', html, '-c', '3', url);
  assert.equal(code, 0);
  assert.equal(stderr, '', 'no progress without a terminal');
  const { sent, ok, statusErrors, transportErrors, timeouts, inFlightAtEnd } = result.requests;
  assert.ok(ok > 0);
  assert.equal(sent, ok + statusErrors + transportErrors + timeouts + inFlightAtEnd);
  assert.deepEqual(JSON.parse(readFileSync(output, 'utf8')), result);
  assert.match(readFileSync(html, 'utf8'), /^<!doctype html>/i);
});

test('-o - means --json, and targets and a body are read from standard input', async () => {
  const args = ['-o', '-', '-n', '4', '-c', '1'];
  const targets = start(...args, '--targets', '-', url);
  targets.child.stdin.end('GET /from-stdin\n');
  const { code, stdout } = await targets.ended;
  assert.equal(code, 0);
  assert.match(JSON.parse(stdout).plan.targets[0].url, /from-stdin$/);
  assert.equal(seen.at(-1).url, '/from-stdin');
  assert.ok(!existsSync('-'));

  const body = start(...args, '-b', '@-', url);
  body.child.stdin.end('a body');
  assert.equal((await body.ended).code, 0);
  assert.equal(seen.at(-1).body, 'a body');
});

test('-body of vegeta is a file, and --body is text', async () => {
  const path = join(folder, 'vegeta-body.txt');
  writeFileSync(path, 'of the file');
  const { stderr } = await json('-body', path, url);
  assert.equal(seen.at(-1).body, 'of the file');
  assert.match(stderr, /^note: -body .* is taken as --body @/);
  await json('--body', path, url);
  assert.equal(seen.at(-1).body, path);
});

test('the report says first how the flags were understood', async () => {
  const { code, stdout, stderr } = await millrace('-c', '3', '-d', '200ms', url);
  assert.equal(code, 0, stderr);
  const [first] = stdout.split('\n');
  assert.match(first, /closed.*3 connections/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for
  assert.doesNotMatch(stdout, /\x1b/, 'no colors where there is no terminal');
});

test('a TLS server is refused without trust, and measured with -k or --ca', async () => {
  const tls = await startTestServer({ processes: 1, tls: true });
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, tls.cert);
  const refused = await millrace('-d', '1s', tls.url);
  assert.match(refused.stderr, /certificate.*--ca.*-k/);
  assert.equal(refused.code, 3);
  const trusted = await json('--ca', ca, '--tls', 'resume', tls.url);
  assert.equal(trusted.code, 0);
  assert.equal(trusted.result.plan.verifyCertificate, true);
  assert.ok(trusted.result.connections.tlsResumed > 0);
  const any = await json('-k', '--connection', 'close', tls.url);
  assert.equal(any.result.plan.handshake, 'full');
  assert.equal(any.result.connections.tlsResumed, 0);
  assert.ok(any.result.warnings.some(({ id }) => id === 'certificate-not-verified'));
  await tls.close();
});

test('a number of requests is exact', async () => {
  const before = seen.length;
  const { result } = await json('-n', '1k', '-c', '7', '-t', '2', '-d', '30s', url);
  assert.equal(result.requests.ok, 1000);
  assert.equal(seen.length - before, 1000);
});

test('a server that does not listen ends with exit code 3', async () => {
  const closed = createNetServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address();
  closed.close();
  await once(closed, 'close');
  const { code, stdout, stderr } = await millrace('-d', '1s', `http://127.0.0.1:${port}/`);
  assert.equal(code, 3, stderr);
  assert.match(stderr, /^millrace: .*refused/i);
  assert.equal(stderr.trimEnd().split('\n').length, 1);
  assert.equal(stdout, '');
});

test('one of two targets that is not reached ends with exit code 3', async () => {
  const free = await findFreePort();
  const { code, result } = await json(url, `http://localhost:${free}/b`);
  assert.equal(code, 3);
  const { message } = result.warnings.find(({ id }) => id === 'target-not-reached');
  assert.match(
    message,
    new RegExp(`GET http://localhost:${free}/b \\(.*:${free}: connection refused`),
  );
  assert.ok(!result.warnings.some(({ id }) => id === 'addresses-left-out'));
  assert.ok(result.requests.ok > 0);
});

test('a run whose requests all failed ends with exit code 3, whatever else happened', async () => {
  const { code, result } = await json('--fail-on', 'errors<1%', `${url}fail`);
  assert.equal(code, 3);
  assert.equal(result.requests.ok, 0);
  assert.equal(result.statusCodes[503], result.requests.statusErrors);
});

test('a rate that was not reached ends with exit code 4', async () => {
  const { code, result } = await json('-R', '100', '-c', '1', '-d', '1s', `${url}slow`);
  assert.equal(code, 4);
  assert.ok(result.warnings.some(({ id }) => id === 'rate-not-reached'));
});

test('a failed --fail-on ends with exit code 99, which precedes 4', async () => {
  const args = [
    '-R',
    '100',
    '-c',
    '1',
    '-d',
    '1s',
    '--fail-on',
    'p50<1ms',
    '--fail-on',
    'errors<1%',
  ];
  const { code, stderr, result } = await json(...args, `${url}slow`);
  assert.deepEqual(result.conditions, [
    { condition: 'p50<1ms', value: result.latencyMs.p50, holds: false },
    { condition: 'errors<1%', value: 0, holds: true },
  ]);
  assert.match(stderr, /^millrace: --fail-on 'p50<1ms' failed: it is /);
  assert.doesNotMatch(stderr, /errors<1%/);
  assert.equal(code, 99);
});

test('conditions of --fail-on that hold end with exit code 0', async () => {
  const conditions = ['p99.9<5s', 'service.max<=5s', 'throughput>1', 'errors<1', 'timeouts<=0%'];
  const flags = conditions.flatMap((condition) => ['--fail-on', condition]);
  const { code, stderr } = await json(...flags, url);
  assert.equal(stderr, '');
  assert.equal(code, 0);
});

test('Ctrl-C prints the report so far', async () => {
  const { child, ended } = start('--json', '-d', '60s', '-c', '2', `${url}interrupted`);
  // With the first request the measurement has begun.
  await Promise.race([requestFor('/interrupted'), ended]);
  child.kill('SIGINT');
  const { code, stdout, stderr } = await ended;
  assert.equal(stderr, '');
  const result = JSON.parse(stdout);
  assert.equal(result.interrupted, true);
  assert.ok(result.durationMs < 30_000);
  // A busy machine may not have answered yet.
  assert.equal(code, result.requests.ok > 0 ? 0 : 3);
});

test('Ctrl-C with a condition or --strict ends with exit code 99 if it failed, else 130', async () => {
  const interrupted = async (...flags) => {
    const path = `gate-${flags.join('')}`.replace(/[^a-z0-9]/gi, '-');
    const { child, ended } = start(...flags, '-d', '60s', '-c', '2', `${url}${path}`);
    await Promise.race([requestFor(`/${path}`, 100), ended]);
    child.kill('SIGINT');
    return ended;
  };
  const [holds, failed, strict] = await Promise.all([
    interrupted('--fail-on', 'ERRORS<1%'),
    interrupted('--fail-on', 'Throughput>1G', '--fail-on', 'SERVICE.P50<=1h'),
    interrupted('--strict'),
  ]);
  assert.equal(holds.code, 130, holds.stderr);
  assert.match(holds.stderr, /^millrace: interrupted: .* \(exit code 130\)\n$/);
  assert.equal(failed.code, 99);
  assert.match(failed.stderr, /^millrace: --fail-on 'Throughput>1G' failed: it is .*\n$/);
  assert.equal(strict.code, 130);
});

test('Ctrl-C before a request was sent ends with one line and exit code 130', async () => {
  const silent = createNetServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { child, ended } = start('-c', '1', `https://127.0.0.1:${silent.address().port}/`);
  const [connection] = await once(silent, 'connection');
  child.kill('SIGINT');
  const { code, stdout, stderr } = await ended;
  connection.destroy();
  silent.close();
  assert.equal(stderr, 'millrace: interrupted before a request was sent\n');
  assert.equal(stdout, '');
  assert.equal(code, 130);
});

const SERVER = `
const server = require('node:http').createServer((request, response) => {
  if (request.url === '/exit') process.exit(7);
  response.end(process.env.GREETING ?? 'hello');
});
server.listen(Number(process.argv[2]), '127.0.0.1');
`;

test('-- COMMAND starts the server, loads it and stops it', async () => {
  const script = join(folder, 'server.cjs');
  writeFileSync(script, SERVER);
  const { code, result, stderr } = await json('-c', '2', '--', process.execPath, script, '0');
  assert.equal(code, 0, stderr);
  assert.ok(result.requests.ok > 0);
  assert.deepEqual(result.plan.command, [process.execPath, script, '0']);
  const [{ url }] = result.plan.targets;
  await assert.rejects(fetch(url), 'it is stopped');

  const path = await json('/a?b', '--', process.execPath, script, '0');
  assert.match(path.result.plan.targets[0].url, /^http:\/\/127\.0\.0\.1:\d+\/a\?b$/);
});

test('a command that ends early or during the run ends with exit code 3', async () => {
  const early = await millrace('-d', '1s', '--', process.execPath, '-e', 'process.exit(5)');
  assert.equal(early.code, 3);
  assert.match(early.stderr, /^millrace: .*code 5/);

  const script = join(folder, 'server-exits.cjs');
  writeFileSync(script, SERVER);
  const target = ['--url', '/', '--url', '/exit'];
  const during = await json(...target, '-d', '20s', '--', process.execPath, script, '0');
  assert.equal(during.code, 3);
  assert.ok(during.result.warnings.some(({ id }) => id === 'server-ended'));
  assert.equal(during.result.interrupted, false, 'nobody interrupted it');
  assert.ok(during.result.durationMs < 10_000, 'the run was ended');
});

const noGlance = { skip: noProcfs };

test('the report contains the command that explains the same load', noGlance, async () => {
  // Answers for which a generator that is a little late is not too late, by a loop that is idle whatever else runs.
  const script =
    "require('http').createServer((q, s) => setTimeout(() => s.end('it works'), 100)).listen(0)";
  const load = ['-c5', '--pipelining=2', '-kH', 'X-A: b c', '-d', '{"a":1}', '/path'];
  const result = ['-d', '1200ms', '--warmup', '0'];
  const server = ['--', process.execPath, '-e', script];
  const { stdout } = await millrace(...load, ...result, ...server);
  const quoted = `'${script.replaceAll("'", "'\\''")}'`;
  const line = `npx millrace explain -c 5 --pipelining 2 -k -H 'X-A: b c' -b '{"a":1}' /path -- ${process.execPath} -e ${quoted}`;
  assert.match(stdout, /To\s+be\s+sure:\n/);
  assert.ok(stdout.includes(`sure:\n  ${line}\n`), stdout);
  // A generator that is kept from its core says that instead.
  const staged = () => millrace('--stage', '1200ms:50', ...server);
  const { stdout: text } = await retried(staged, ({ stdout }) =>
    assert.match(stdout, /^Why not more\? /m),
  );
  assert.doesNotMatch(text, /To\s+be\s+sure/);
});

test('a load without a target is a demo', async () => {
  const { code, stdout, stderr } = await millrace('-d', '300ms');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^A demo, as no target is given/);
  assert.match(stdout, /20 connections/);
  assert.match(stdout, /Next, a server of yours:/);
});

test('testserver prints one line with the URL and ends on SIGTERM', async () => {
  const { child, ended } = start(
    'testserver',
    '--port',
    '0',
    '--processes',
    '1',
    '--status',
    '404',
  );
  const [line] = await once(child.stdout, 'data');
  const [, address] = /^Listening on (http:\/\/127\.0\.0\.1:\d+\/)\n$/.exec(line);
  assert.equal((await fetch(address)).status, 404);
  child.kill('SIGTERM');
  const { code, stdout, stderr } = await ended;
  assert.equal(stderr, '');
  assert.equal(stdout, line);
  assert.equal(code, 0);
  await assert.rejects(fetch(address));
});

test('testserver reports a process that has died and ends with exit code 1', {
  skip: noProcfs,
}, async () => {
  for (const processes of ['1', '2']) {
    const { child, ended } = start('testserver', '--port', '0', '--processes', processes);
    const [line] = await once(child.stdout, 'data');
    const [, address] = /^Listening on (\S+)\n$/.exec(line);
    const { port } = new URL(address);
    process.kill(findPortOwner(Number(port), '127.0.0.1'), 'SIGKILL');
    const { code, stderr } = await ended;
    assert.equal(stderr, 'millrace: a process of the test server has ended\n');
    assert.equal(code, 1);
  }
});
