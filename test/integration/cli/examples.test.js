// Each example runs as its first lines say, for a shorter time, and prints what a reader would look for.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const limits = { timeout: 30_000 };

/** Starts Node from the root of the checkout, as the examples' first lines do. */
function start(args, env = {}) {
  return spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function run(args, env) {
  const child = start(args, env);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, stdout, stderr };
}

function example(name, ...args) {
  return run([`examples/${name}`, ...args]);
}

/** The command line's result against an example's server. */
async function loadExample(flags, server, env) {
  const args = [
    'bin/millrace.js',
    '--json',
    ...flags,
    '--',
    process.execPath,
    `examples/${server}`,
  ];
  const { stdout, stderr } = await run(args, env);
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout);
}

// They wait most of the time.
describe('each example', { concurrency: 3 }, () => {
  test('load.mjs prints numbers of the result', limits, async () => {
    const server = start(['examples/server.js']);
    try {
      const [line] = await once(createInterface(server.stderr), 'line');
      const url = /http:\/\/\S+/.exec(line)?.[0];
      const { code, stdout, stderr } = await example('load.mjs', url, '300ms');
      assert.equal(code, 0, stderr);
      assert.match(
        stdout,
        /^\d+ requests\/s\nlatency p50 [\d.]+ ms, p99 [\d.]+ ms\n[1-9]\d* sent: /,
      );
    } finally {
      server.kill();
      await once(server, 'close');
    }
  });

  test('progress.mjs prints a line per snapshot, then the end', limits, async () => {
    const { code, stdout, stderr } = await example('progress.mjs', '1500ms');
    assert.equal(code, 0, stderr);
    const snapshots = stdout.match(/^[\d.]+ s: \d+ done, 0 failed, \d+ in flight, p99 \S+ ms$/gm);
    assert.ok(snapshots.length >= 2, stdout);
    assert.match(stdout, /^[1-9]\d+ sent, /m);
  });

  test('abort.mjs ends long before its minute is over', limits, async () => {
    const { code, stdout, stderr } = await example('abort.mjs');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^interrupted: true, after [\d.]+ s\n\d{3,} of \d+ requests failed\n$/);
  });

  test('capacity-by-hand.mjs finds a rate that is too high', limits, async () => {
    const { code, stdout, stderr } = await example('capacity-by-hand.mjs', '500ms', '100', '5000');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^ +100\/s +\d+\/s +[\d.]+ ms +[\d.]+ ms$/m);
    assert.match(stdout, /^\d+\/s is more than it can take$/m);
  });

  test('ci-gate.mjs passes within the limit', limits, async () => {
    const { code, stdout, stderr } = await example('ci-gate.mjs', '20000', '500ms');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^ok: p99 is [\d.]+ ms$/m);
  });

  test('ci-gate.mjs fails beyond the limit', limits, async () => {
    const { code, stdout } = await example('ci-gate.mjs', '0.000001', '500ms');
    assert.equal(code, 1);
    assert.match(stdout, /^FAILED: p99 is [\d.]+ ms, allowed is less than 0.000001 ms$/m);
  });

  test('report.mjs writes reports, the second time with a comparison', limits, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-reports-'));
    const read = (name) => readFileSync(join(folder, name), 'utf8');
    try {
      const first = await example('report.mjs', folder, '500ms');
      assert.equal(first.code, 0, first.stderr);
      assert.deepEqual(readdirSync(folder).sort(), ['first.json', 'report.html', 'report.md']);
      assert.doesNotMatch(read('report.md'), /this run/);
      const second = await example('report.mjs', folder, '500ms');
      assert.equal(second.code, 0, second.stderr);
      assert.match(second.stdout, /^runs +1 of A and 1 of B, from stored results$/m);
      assert.match(read('report.md'), /this run/);
      const { code, stdout } = await run(['bin/millrace.js', 'report', join(folder, 'first.json')]);
      assert.equal(code, 0);
      // The width of a pipe is the same for both.
      assert.equal(first.stdout, stdout);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('targets.txt requests users that server.js has', limits, async () => {
    const flags = ['-n', '30', '--targets', 'examples/targets.txt'];
    const { statusCodes } = await loadExample(flags, 'server.js');
    assert.deepEqual(statusCodes, { 200: 20, 201: 10 });
  });

  test('freezing-server.js delays requests that are due while it freezes', limits, async () => {
    const flags = ['-R', '200', '-c', '10', '-d', '1500ms'];
    // The time from the request that tries the port to the load differs from machine to machine.
    const env = { FREEZE_MS: '500', AFTER_MS: '500' };
    const { latencyMs, serviceTimeMs } = await loadExample(flags, 'freezing-server.js', env);
    // 100 of 300 arrivals wait up to 500 ms; all but 10 of them for a connection.
    assert.ok(latencyMs.p90 > 150, `latency p90 is ${latencyMs.p90} ms`);
    assert.ok(serviceTimeMs.p90 < latencyMs.p90, `service time p90 is ${serviceTimeMs.p90} ms`);
  });
});
