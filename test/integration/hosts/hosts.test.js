// `millrace load --hosts` on machines that ssh reaches.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { noSshd, startMachines } from '../../fixtures/hosts/sshd.js';
import { isResult } from '../../fixtures/schemas.js';
import { millrace, millraceJson, startMillrace } from '../../fixtures/truth/cli.js';

const NAMES = ['one', 'two', 'three'];
const folder = mkdtempSync(join(tmpdir(), 'millrace-hosts-'));
let machines;
let server;

/** A server that keeps the targets that it was asked for; `first(count)` resolves when it has so many. */
async function startServer(address) {
  const targets = [];
  const waiting = [];
  const listener = createServer((request, response) => {
    targets.push(request.url);
    for (const { count, resolve } of waiting) if (targets.length >= count) resolve();
    response.end('ok');
  });
  listener.listen(0, address);
  await once(listener, 'listening');
  return {
    targets,
    url: `http://${address}:${listener.address().port}`,
    first: (count) => new Promise((resolve) => waiting.push({ count, resolve })),
    reset: () => void targets.splice(0),
    close() {
      listener.closeAllConnections();
      listener.close();
    },
  };
}

before(async () => {
  if (noSshd) return;
  machines = await startMachines(NAMES);
  server = await startServer(machines.address);
});

after(async () => {
  await machines?.close();
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

const flags = (...more) => ['--ssh', machines.ssh, '--hosts', NAMES.join(','), ...more];
const one = (name) => machines.byName[name];

/** Asserts that nothing of a run is left on the machines: processes may take a moment to end. */
async function assertNothingLeft() {
  const list = () => NAMES.flatMap((name) => [...one(name).processes(), ...one(name).files()]);
  const deadline = performance.now() + 5000;
  while (list().length > 0 && performance.now() < deadline) await sleep(20);
  assert.deepEqual(list(), []);
}

describe('millrace load --hosts', { timeout: 120_000, skip: noSshd }, () => {
  test('machines run the shares of one plan at one time, and there is one result', async (t) => {
    t.diagnostic(`machines are ${machines.kind}`);
    server.reset();
    one('two').installMillrace('MILLRACE_TEST_CLOCK_AHEAD_MS=-2000');
    const options = ['-n', '30', '-R', '200', '--fail-on', 'errors<1', '--clock-skew', '3s'];
    const { code, result } = await millraceJson(flags(...options, `${server.url}/{{seq}}`));
    reset();
    assert.equal(code, 0);
    const numbers = server.targets.map((target) => Number(target.slice(1)));
    assert.deepEqual(
      numbers.sort((a, b) => a - b),
      Array.from({ length: 30 }, (_, index) => index),
    );
    assert.equal(result.requests.ok, 30);
    assert.ok(isResult(result), JSON.stringify(isResult.errors));
    assert.deepEqual(
      result.generators.map(({ name, segment, requests }) => [name, segment.index, requests.ok]),
      NAMES.map((name, index) => [name, index + 1, 10]),
    );
    for (const { name, clock, start } of result.generators) {
      const aheadMs = name === 'two' ? -2000 : 0;
      assert.ok(Math.abs(clock.offsetMs - aheadMs) <= clock.boundMs + 5, JSON.stringify(clock));
      assert.equal(start.at, result.generators[0].start.at);
    }
    // Not 2 s: a busy machine starts late.
    const starts = result.generators.map(({ startedAtMs }) => startedAtMs);
    assert.ok(Math.max(...starts) - Math.min(...starts) < 1000, String(starts));
    assert.deepEqual(
      result.conditions.map(({ condition, holds }) => [condition, holds]),
      [['errors<1', true]],
    );
    await assertNothingLeft();
  });

  test('files of flags and scenarios are sent, and removed', async () => {
    server.reset();
    mkdirSync(join(folder, 'lib'));
    writeFileSync(join(folder, 'users.csv'), 'id\n1\n2\n3\n4\n5\n6\n');
    writeFileSync(join(folder, 'lib/path.cjs'), "exports.path = '/home';\n");
    const file = join(folder, 'shop.mjs');
    writeFileSync(
      file,
      `import { request, scenario } from 'millrace/scenario';
       import { path } from './lib/path.cjs';
       export const setup = () => ({ item: process.env.ITEM });
       export default scenario('shop', [
         request('home', \`GET \${path}\`),
         request('item', 'GET /item?id={{csv:users.csv:id}}&item={{item}}'),
       ]);`,
    );
    const run = await millrace([
      ...['run', file, server.url, ...flags('-n', '6', '--users', '3', '--env', 'ITEM=x')],
    ]);
    assert.equal(run.code, 0, run.stderr);
    assert.match(run.stdout, /6 started = 6 completed/);
    const items = [1, 2, 3, 4, 5, 6].map((id) => `/item?id=${id}&item=x`);
    assert.deepEqual(server.targets.sort(), [...Array(6).fill('/home'), ...items]);
    await assertNothingLeft();
  });

  test('each host that cannot be used is named in a line, and nothing is sent', async () => {
    server.reset();
    one('one').installMillrace('MILLRACE_TEST_CLOCK_AHEAD_MS=2000');
    one('two').remove('node');
    one('three').install('millrace', `echo '{"type":"hello","version":"9.9.9"}'; exec cat`);
    try {
      const more = ['--hosts', 'nobody@127.0.0.1:1', '-n', '30', server.url];
      const { code, stdout, stderr } = await millrace(['load', ...flags(...more)]);
      assert.equal(code, 3);
      assert.equal(stdout, '');
      const [clock, node, version, unreachable, ...others] = stderr.trim().split('\n');
      assert.match(clock, /^millrace: one: its clock is 2\.0\d? s ahead .*--clock-skew/);
      assert.match(node, /^millrace: two: Node\.js was not found there .*: install Node\.js/);
      assert.match(version, /^millrace: three: has millrace 9\.9\.9, and this machine .* --copy/);
      assert.match(unreachable, /^millrace: nobody@127\.0\.0\.1:1: ssh: .*Connection refused$/);
      assert.deepEqual(others, []);
      assert.deepEqual(server.targets, []);
    } finally {
      reset();
    }
    await assertNothingLeft();
  });

  test('a host that dies is named and keeps no files, and the others have a result', async () => {
    server.reset();
    const file = join(folder, 'dies.mjs');
    writeFileSync(
      file,
      `import { request, scenario } from 'millrace/scenario';
       export default scenario('dies', [request('home', 'GET /')]);`,
    );
    const rate = ['-R', '150', '-d', '2s', '--users', '30'];
    const run = startMillrace(['run', '--json', file, server.url, ...flags(...rate)]);
    await server.first(3);
    const [pid] = one('two').agents();
    process.kill(pid, 'SIGKILL');
    const { code, stdout, stderr } = await run.ended;
    assert.equal(code, 4, stderr);
    assert.match(stderr, /^millrace: two: .*killed.*: its share has no result\.$/im);
    const result = JSON.parse(stdout);
    assert.deepEqual(
      result.generators.map(({ name }) => name),
      ['one', 'three'],
    );
    assert.deepEqual(result.missing, [2]);
    // A busy machine may not have sent the last ones.
    const { started, notStarted } = result.iterations;
    assert.equal(started + notStarted, 200);
    await assertNothingLeft();
  });

  test('Ctrl-C ends all, with the report so far', async () => {
    server.reset();
    const run = startMillrace(['load', ...flags('-R', '150', '-d', '60s', server.url)]);
    await server.first(30);
    run.child.kill('SIGINT');
    const { code, stdout, stderr } = await run.ended;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /3 generators, all 3 shares/);
    await assertNothingLeft();
  });
});

function reset() {
  const { execPath } = process;
  for (const name of NAMES) {
    one(name).install('node', `exec ${execPath} "$@"`);
    one(name).installMillrace();
  }
}
