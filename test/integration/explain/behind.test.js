// A server that has something else before it: what is explained is the server all the same.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openProbeHub } from '#internal/explain/observe/probe/hub.js';
import { ServerUnderTest } from '#internal/explain/target/server-under-test.js';
import { findFreePorts } from '#internal/process/listening/free-port.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace behind-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function written(name, source) {
  const file = join(folder, name);
  writeFileSync(file, source);
  return file;
}

function request(port) {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent: false }, (response) => {
      response.resume().on('end', resolve);
    }).on('error', reject);
  });
}

test('the process behind a proxy that is not Node is observed', async () => {
  const [outer, inner] = await findFreePorts(2);
  const proxy = written(
    'proxy.cjs',
    `const { connect, createServer } = require('node:net');
    createServer((client) => {
      const upstream = connect(${inner}, '127.0.0.1');
      client.on('error', () => upstream.destroy()).pipe(upstream);
      upstream.on('error', () => client.destroy()).pipe(client);
    }).listen(${outer}, '127.0.0.1', () => process.send('there'));`,
  );
  // It has no probe, as a proxy that is no program of Node has none.
  const main = written(
    'main.cjs',
    `const { fork } = require('node:child_process');
    const { createServer } = require('node:http');
    createServer((_, response) => response.end('here')).listen(${inner}, '127.0.0.1', () => {
      const { NODE_OPTIONS, ...env } = process.env;
      fork(${JSON.stringify(proxy)}, { env });
    });`,
  );
  const hub = await openProbeHub();
  const load = { url: `http://127.0.0.1:${outer}/`, connections: 4 };
  const { signal } = new AbortController();
  const subject = new ServerUnderTest(load, { command: [process.execPath, main] }, hub, signal, [
    outer,
  ]);
  try {
    await subject.start();
    await request(outer);
    await subject.checkServingProcess();
    const { inside, throughput } = await subject.runBlock({ settleMs: 200, measureMs: 600 });
    assert.ok(throughput > 0);
    assert.equal(inside.pids.length, 1);
    // A busy machine delays the samples; the proxy itself would have finished none.
    const ratio = inside.finished / throughput;
    assert.ok(ratio > 0.5 && ratio < 2, `${inside.finished}, ${throughput}`);
  } finally {
    await subject.close();
    await hub.close();
  }
});
