// Memory of bodies is given back before V8 has to mark its whole heap for that.
import '../../../../dist/http/register.js';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { test } from 'node:test';
import vm from 'node:vm';

const MB = 1024 * 1024;
const PART = Buffer.alloc(MB);
const MAJOR = Number.parseInt(process.versions.node, 10);
const { NODE_PERFORMANCE_GC_FLAGS_FORCED: FORCED, NODE_PERFORMANCE_GC_MINOR: MINOR } = constants;

test('the young generation is collected after every 8 MB of bodies', {
  timeout: 30_000,
  skip: MAJOR < 22 && 'V8 collects it in time',
}, async (t) => {
  const forced = [];
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) {
      if (detail.kind === MINOR && detail.flags & FORCED) forced.push(detail);
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  t.after(() => observer.disconnect());
  let received = 0;
  const server = http.createServer((request, response) => {
    request.on('data', (part) => {
      received += part.length;
    });
    request.on('end', () => response.end());
  });
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = net.connect(server.address().port, '127.0.0.1');
  t.after(() => socket.destroy());
  const send = async (megabytes) => {
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${megabytes * MB}\r\n\r\n`);
    for (let sent = 1; sent < megabytes; sent++) socket.write(PART);
    socket.write(PART);
    await once(socket, 'data');
  };
  await send(7);
  assert.deepEqual(forced, []);
  await send(33);
  assert.equal(received, 40 * MB);
  // Entries are reported in a later turn.
  const limit = performance.now() + 5000;
  while (forced.length < 5 && performance.now() < limit) await new Promise(setImmediate);
  assert.equal(forced.length, 5);
  assert.equal(globalThis.gc, undefined);
  assert.equal(vm.runInNewContext('typeof gc'), 'undefined', 'the application has no new global');
});
