// Memory of bodies is given back before V8 has to mark its whole heap for that.
import '#internal/http/register.js';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import vm from 'node:vm';

const MB = 1024 * 1024;
const PART = 64 * 1024;
const TOTAL = 64 * MB;
const SAME = Buffer.alloc(8 * MB);
const MAJOR = Number.parseInt(process.versions.node, 10);
const { NODE_PERFORMANCE_GC_FLAGS_FORCED: FORCED, NODE_PERFORMANCE_GC_MINOR: MINOR } = constants;

// In a process of its own, as what it reads has memory outside too.
const CLIENT = `
const [port, path, bytes] = process.argv.slice(1);
const request = require('node:http').request({ port, path, method: 'POST', agent: false });
request.on('response', (response) => response.resume().on('end', () => process.exit()));
request.end(Buffer.alloc(Number(bytes)));`;

function* parts() {
  for (let sent = 0; sent < TOTAL; sent += PART) yield Buffer.alloc(PART);
}

const handlers = {
  '/upload': (request, response) => request.resume().on('end', () => response.end()),
  '/parts': (_request, response) => Readable.from(parts()).pipe(response),
  '/same': (_request, response) => response.end(SAME),
};

/** Number of collections of the young generation that were asked for while a client asked these. */
async function countForced(t, path, { times = 1, bytes = 0 } = {}) {
  let forced = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) {
      if (detail.kind === MINOR && detail.flags & FORCED) forced++;
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  t.after(() => observer.disconnect());
  const server = http.createServer((request, response) => handlers[request.url](request, response));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  for (let n = 0; n < times; n++) {
    const client = spawn(process.execPath, ['-e', CLIENT, server.address().port, path, bytes]);
    assert.deepEqual(await once(client, 'exit'), [0, null]);
  }
  // Entries are reported two turns later.
  for (let turn = 0; turn < 10; turn++) await setImmediate();
  return forced;
}

const collects = { timeout: 30_000, skip: MAJOR < 22 && 'V8 collects it in time' };
/** At 3 MB; the memory that the one before gives back shrinks with a delay. */
const LEAST = TOTAL / MB / 8;

test('the young generation is collected while bodies arrive', collects, async (t) => {
  const forced = await countForced(t, '/upload', { bytes: TOTAL });
  assert.ok(forced >= LEAST, `${forced} collections`);
  assert.equal(globalThis.gc, undefined);
  assert.equal(vm.runInNewContext('typeof gc'), 'undefined', 'the application has no new global');
});

test('the young generation is collected while bodies are sent', collects, async (t) => {
  const forced = await countForced(t, '/parts');
  assert.ok(forced >= LEAST, `${forced} collections`);
});

test('nothing is collected for a body that is sent again and again', collects, async (t) => {
  assert.equal(await countForced(t, '/same', { times: 8 }), 0);
});
