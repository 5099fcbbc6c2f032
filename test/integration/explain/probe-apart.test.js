// What the probe leaves alone: a program runs as it does without it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openProbeHub } from '#internal/explain/observe/probe/hub.js';
import { request, served } from '../../fixtures/explain/probed.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace test of the probe-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('a process with a probe behaves as without', () => {
  const scripts = {
    'an exit code': 'process.exitCode = 3; console.log("out"); console.error("err")',
    'process.exit': 'setTimeout(() => process.exit(4), 10); setInterval(() => {}, 1000)',
    'an uncaught exception': 'setTimeout(() => { throw new Error("bang") }, 1)',
    'an unhandled rejection': 'Promise.reject(new Error("bang"))',
    'an own signal handler': `process.on('SIGTERM', () => { console.log('asked'); process.exit(5) });
      setInterval(() => {}, 1000); process.kill(process.pid, 'SIGTERM')`,
    'a signal': 'setInterval(() => {}, 1000); process.kill(process.pid, "SIGTERM")',
    'the end of the loop': 'process.on("exit", (code) => console.log("exit", code))',
    beforeExit:
      'process.once("beforeExit", () => { console.log("before"); setImmediate(() => {}) })',
    'the order of callbacks': `setTimeout(() => console.log('timeout'), 0);
      setImmediate(() => setImmediate(() => console.log('immediate')));
      process.nextTick(() => console.log('tick')); Promise.resolve().then(() => console.log('promise'));
      console.log('now')`,
    'output that is replaced': `const { write } = process.stdout; const lines = [];
      process.stdout.write = (text) => lines.push(text); console.log('kept');
      process.stdout.write = write; console.log(lines)`,
    'a server that throws': `const http = require('node:http');
      http.createServer(() => { throw new Error('bang') }).listen(0, function () {
        http.get({ port: this.address().port }).on('error', () => {}) })`,
    'a server that ends': `const http = require('node:http'); const order = [];
      const server = http.createServer((request, response) => {
        process.nextTick(() => order.push('tick')); Promise.resolve().then(() => order.push('promise'));
        setImmediate(() => { order.push('immediate'); response.end('x') }); order.push('handler') });
      server.listen(0, () => http.get({ port: server.address().port, agent: false }, (response) => {
        response.resume().on('end', () => { server.close(); console.log(order.join(), response.headers.connection) }) }))`,
  };

  for (const [what, script] of Object.entries(scripts)) {
    test(`a process with a probe behaves as without: ${what}`, async () => {
      const hub = await openProbeHub();
      try {
        const file = join(folder, 'script.cjs');
        writeFileSync(file, script);
        const without = await run(file, process.env);
        const probed = await run(file, hub.environment(process.env));
        assert.deepEqual(probed, without);
      } finally {
        await hub.close();
      }
    });
  }

  test('the service continues when millrace ends', async () => {
    await served({}, async ({ hub, port, drive, output }) => {
      await drive('/log', { connections: 2, requests: 10 });
      await hub.command('mute', { on: true });
      await hub.command('spin', { microseconds: 100_000 });
      await hub.close();
      // The channel's end reaches the service before requests that are made after it was seen.
      await request(port, '/log');
      const from = performance.now();
      for (let count = 0; count < 10; count++) await request(port, '/log');
      assert.ok(performance.now() - from < 900);
      await output((text) => text.length >= 9 * 20);
    });
  });

  test('the probe is loaded from a path with spaces and with other options', async () => {
    const hub = await openProbeHub();
    const env = hub.environment({ NODE_OPTIONS: '--no-warnings' });
    assert.match(env.NODE_OPTIONS, /^--no-warnings --require \S/);
    assert.ok(existsSync(hub.path));
    await hub.close();
    assert.ok(!existsSync(dirname(hub.path)));
  });

  test('a process with a probe runs without a listening millrace', async () => {
    const file = join(folder, 'alone.cjs');
    writeFileSync(file, 'console.log(1)');
    const hub = await openProbeHub();
    const env = hub.environment(process.env);
    await hub.close();
    assert.deepEqual(await run(file, env), { code: 0, signal: null, stdout: '1\n', stderr: '' });
  });
});

function run(file, env) {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [file], { env }, (_, stdout, stderr) => {
      resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr });
    });
  });
}
