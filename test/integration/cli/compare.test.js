// examples/compare.mjs: the same command on Node's own stack and on Millrace's, as a user runs it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../../examples/compare.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-compare-test-'));
const limits = { timeout: 60_000 };
const SHORT = ['-d', '300ms', '--warmup', '100ms', '-c', '4'];

after(() => rmSync(folder, { recursive: true, force: true }));

/** A file with a server that answers with the version of the stack that it runs on. */
function application(name, source = '') {
  const file = join(folder, `${name}.cjs`);
  const server = `const server = http.createServer((request, response) => {
    response.statusCode = request.url === '/missing' ? 404 : 200;
    response.end(String(http.millraceVersion));
  });`;
  writeFileSync(
    file,
    `const http = require('node:http');\n${server}\n${source}\nserver.listen(0);`,
  );
  return [process.execPath, file];
}

function start(args, env = {}) {
  const stdio = ['ignore', 'pipe', 'pipe'];
  return spawn(process.execPath, [script, ...args], { env: { ...process.env, ...env }, stdio });
}

async function compare(args, env) {
  const child = start(args, env);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, stdout, stderr };
}

const NUMBER = '[\\d.,]+';
const ROW = ` +${NUMBER} +${NUMBER} +[\\d.]+ +[\\d.]+ to [\\d.]+`;

test(
  'both stacks are measured with ratios and intervals, and all connections are served natively',
  limits,
  async () => {
    const { code, stdout, stderr } = await compare([
      ...[...SHORT, '--pairs', '2', '/', '--'],
      ...application('plain'),
    ]);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '');
    for (const name of [
      'requests/s',
      'latency p50, ms',
      'latency p99, ms',
      'server CPU, µs/request',
    ]) {
      assert.match(stdout, new RegExp(`^${name}${ROW}`, 'm'));
    }
    assert.match(stdout, /it contains the true median with 50 %\.$/m);
    assert.match(stdout, /^Served natively: 100 % of the requests\.$/m);
    assert.match(
      stdout,
      /^Doubtful \(2 on Node, 2 on Millrace of 2 runs each\): The measurement lasted/m,
    );
  },
);

test("connections that Node's own code serves are reported with their reason", limits, async () => {
  const command = application('fields', 'server.maxHeadersCount = 1;');
  const args = [...SHORT, '--pairs', '1', '-m', 'PUT', '--', ...command];
  const { code, stdout, stderr } = await compare(args);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /: PUT http:/);
  assert.match(stdout, /^Served natively: 0 % of the requests; .*: unusual \(\d+\)\.$/m);
  assert.match(stdout, /^One pair has no interval/m);
});

test('one run of each pair uses the stack, whatever the environment says', limits, async () => {
  const seen = [];
  const beacon = http.createServer((request, response) => {
    seen.push(request.url);
    response.end();
  });
  await once(beacon.listen(0, '127.0.0.1'), 'listening');
  const env = {
    BEACON: `http://127.0.0.1:${beacon.address().port}/`,
    MILLRACE_STACK: 'node',
    NODE_OPTIONS: '--no-warnings',
  };
  const source = `http.get(process.env.BEACON + [http.millraceVersion !== undefined, process.execArgv, process.env.NODE_OPTIONS.split(' ')[0]]);`;
  const command = application('beacon', source);
  const { code, stderr } = await compare([...SHORT, '--pairs', '2', '--', ...command], env);
  beacon.close();
  assert.equal(code, 0, stderr);
  const order = ['false', 'true', 'true', 'false'];
  assert.deepEqual(
    seen,
    order.map((native) => `/${native},,--no-warnings`),
  );
});

test('Ctrl-C ends the comparison and the server', limits, async (t) => {
  const beacon = http.createServer();
  await once(beacon.listen(0, '127.0.0.1'), 'listening');
  const source = `server.once('request', () => http.get(process.env.BEACON + process.pid));`;
  const child = start(['-d', '1m', '--warmup', '0', '--', ...application('long', source)], {
    BEACON: `http://127.0.0.1:${beacon.address().port}/`,
  });
  // The second one, should the first not have ended it.
  t.after(() => child.kill('SIGINT'));
  const [stderr, closed] = [text(child.stderr), once(child, 'close')];
  const [request] = await once(beacon, 'request');
  const pid = Number(request.url.slice(1));
  assert.ok(process.kill(pid, 0));
  child.kill('SIGINT');
  assert.deepEqual(await closed, [130, null]);
  assert.equal(await stderr, 'compare: interrupted after 0 of 6 pairs\n');
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  beacon.closeAllConnections();
  beacon.close();
});

const refused = [
  [['/'], 2, 'a command is missing: [flags] [URL] -- COMMAND...'],
  [['--foo', '--', 'node'], 2, "Unknown option '--foo'; --help lists what is accepted"],
  [['--pairs', '0', '--', 'node'], 2, '--pairs 0: accepted is 1 to 99'],
  [['-H', 'x', '--', 'node'], 2, "--header 'x': accepted is 'NAME: VALUE'"],
  [['/a', '/b', '--', 'node'], 2, "only one URL is supported (got also '/b')"],
  [['-c', 'x', '--', 'node'], 2, /^connections must be a whole number/],
  [['--', 'no-such-program'], 3, 'cannot start `no-such-program`: no such program'],
  [
    [...SHORT, '/missing', '--', ...application('missing')],
    3,
    /^on Node all of \d+ requests failed: status 404$/,
  ],
];

for (const [args, expected, message] of refused) {
  test(
    `compare ${args.join(' ')} ends with exit code ${expected} and one line`,
    limits,
    async () => {
      const { code, stdout, stderr } = await compare(args);
      assert.deepEqual([code, stdout], [expected, '']);
      const [, line] = /^compare: (.*)\n$/.exec(stderr) ?? [];
      if (message instanceof RegExp) assert.match(line, message);
      else assert.equal(line, message);
    },
  );
}
