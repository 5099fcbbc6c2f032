// What slow, paused and short-lived connections hold, and what of it is left.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createServer } from 'millrace/http';
import { isFull } from '../../../fixtures/size.js';

const LIMIT = { timeout: isFull ? 300_000 : 30_000, skip: process.platform !== 'linux' };
const CONNECTIONS = isFull ? 10_000 : 200;
/** With few connections, what they would leave is less than what memory differs by. */
const MANY = { ...LIMIT, skip: LIMIT.skip || !isFull };
/** That connect at once: a Unix socket's queue is as long as Node makes it. */
const TOGETHER = 100;
const SETTLING_MS = 5_000;
const SERVER = fileURLToPath(
  new URL('../../../fixtures/stack/process/memory-server.js', import.meta.url),
);

const get = (path, fields = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;
const post = (path, fields) => `POST ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`;
/** A server on a Unix socket, which takes some 200 KB in the system. */
async function start(t) {
  const path = join(tmpdir(), `millrace-memory-${process.pid}-${t.name.length}.sock`);
  // What is given back does not stay with the process for the sake of what was allocated behind it (mallopt(3)).
  const env = { ...process.env, MALLOC_MMAP_THRESHOLD_: '8192' };
  const child = fork(SERVER, [path], { execArgv: ['--expose-gc'], env });
  t.after(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await once(child, 'message');
  return { child, path };
}

async function state({ child }, order = 'state') {
  child.send(order);
  return (await once(child, 'message'))[0];
}

async function until(server, holds) {
  for (;;) {
    const now = await state(server);
    if (holds(now)) return now;
  }
}

/** Calls for each of them, so many together. */
async function all(items, action) {
  for (let at = 0; at < items.length; at += TOGETHER) {
    await Promise.all(items.slice(at, at + TOGETHER).map(action));
  }
}

/** Connections with the answer to a first request. */
async function connected({ path }, count = CONNECTIONS) {
  const sockets = [];
  await all(Array.from({ length: count }), async () => {
    const socket = net.connect(path);
    socket.on('error', () => {});
    sockets.push(socket);
    await asked(socket, get('/'));
  });
  return sockets;
}

async function asked(socket, bytes) {
  socket.write(bytes);
  await once(socket, 'data');
}

/** The memory comes to within a tenth or 20 MB of what it was. */
async function settles(server, before) {
  const most = before.memory + Math.max(before.memory / 10, 20e6);
  const end = performance.now() + SETTLING_MS;
  let memory;
  do ({ memory } = await state(server));
  while (memory > most && performance.now() < end);
  assert.ok(memory <= most, `${before.memory} before, ${memory} after`);
}

describe(`the memory of ${CONNECTIONS} connections`, { concurrency: false }, () => {
  test('connections that do not receive a stored response share it', LIMIT, async (t) => {
    const server = await start(t);
    const sockets = await connected(server);
    await asked(sockets[0], get('/stored'));
    const before = await until(server, ({ answered }) => answered > CONNECTIONS);
    for (const socket of sockets.slice(1)) {
      socket.pause();
      socket.write(get('/stored'));
    }
    await until(server, ({ answered }) => answered >= 2 * CONNECTIONS);
    await settles(server, before);
    for (const socket of sockets) socket.destroy();
    await until(server, ({ connections }) => connections === 0);
    await settles(server, before);
  });

  test('connections that were delayed keep nothing of their requests', MANY, async (t) => {
    const server = await start(t);
    const sockets = await connected(server);
    const before = await state(server);
    const ended = sockets.map((socket) => {
      return new Promise((resolve) => {
        socket.on('data', (chunk) => `${chunk}`.endsWith('last') && resolve());
      });
    });
    // They wait for the first of them, as no more may be with the application at once.
    const behind = get('/', `A: ${'a'.repeat(15_000)}\r\n`).repeat(4);
    for (const socket of sockets) socket.write(get('/waits') + behind + get('/last'));
    await until(server, ({ waiting }) => waiting === CONNECTIONS);
    await state(server, 'answer');
    await Promise.all(ended);
    await settles(server, before);
    for (const socket of sockets) socket.destroy();
  });

  test(
    'connections that come and go leave no memory behind, however long they may be idle',
    MANY,
    async (t) => {
      const server = await start(t);
      const round = async () => {
        for (const socket of await connected(server)) socket.destroy();
        return until(server, ({ connections }) => connections === 0);
      };
      const before = await round();
      for (let n = 0; n < 3; n++) await round();
      await settles(server, before);
    },
  );

  test('connections that are refused while they send leave no memory behind', MANY, async (t) => {
    const server = await start(t);
    const sockets = await connected(server);
    const before = await state(server);
    const closed = sockets.map((socket) => new Promise((resolve) => socket.on('close', resolve)));
    for (const socket of sockets) {
      socket.write(`${post('/refused', 'Content-Length: 1000000')}${'a'.repeat(10_000)}`);
    }
    await Promise.all(closed);
    await until(server, ({ connections }) => connections === 0);
    await settles(server, before);
  });
});

test('a client that stays behind does not make the queue grow', LIMIT, async (t) => {
  const total = (isFull ? 500 : 150) << 20;
  const [least, most] = [1 << 20, 2 << 20];
  const chunk = Buffer.alloc(64 * 1024);
  let socket;
  const server = createServer((_request, response) => {
    let written = 0;
    const write = () => {
      while (response.writableLength < most) {
        response.write(chunk);
        written += chunk.length;
      }
      socket.resume();
      if (written >= total) response.end();
      else setImmediate(write);
    };
    write();
    // There is always something that waits, until all is written.
    socket.on('data', () => {
      if (response.writableLength < least && !response.writableEnded) socket.pause();
    });
  });
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  socket = net.connect(server.address().port, '127.0.0.1');
  const before = process.memoryUsage.rss();
  let peak = before;
  socket.on('data', () => {
    peak = Math.max(peak, process.memoryUsage.rss());
  });
  socket.write(get('/', 'Connection: close\r\n'));
  await once(socket, 'close');
  assert.ok(socket.bytesRead >= total);
  assert.ok(peak - before < 64e6, `${peak - before} bytes`);
});
