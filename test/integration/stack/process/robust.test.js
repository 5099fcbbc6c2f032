// Clients that are slow, rude or many, handlers that misbehave, and servers that end: others keep being served, nothing
// is left behind.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isFull } from '../../../fixtures/size.js';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';

const LIMIT = { timeout: 15_000 };
const SERVER = fileURLToPath(new URL('../../../fixtures/stack/robust-server.js', import.meta.url));
const get = (path, fields = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;

/**
 * A server on the stack for the time of the test `t`.
 *
 * @param {any} t
 * @param {object} [settings]
 * @param {{ flags?: string[], limit?: number }} [options]
 */
async function start(t, settings = {}, { flags = [], limit } = {}) {
  const execArgv = ['--expose-gc', ...flags, '--import', REGISTER];
  const args = [JSON.stringify(settings)];
  const limited = { execPath: '/bin/sh', execArgv: ['-c', `ulimit -n ${limit}; exec "$@"`, 'sh'] };
  const env = { ...process.env, NODE_OPTIONS: '' };
  const child = limit
    ? fork(SERVER, args, {
        env,
        ...limited,
        execArgv: [...limited.execArgv, process.execPath, ...execArgv],
      })
    : fork(SERVER, args, { env, execArgv });
  t.after(() => end(child));
  const [{ listening, failed }] = await once(child, 'message');
  assert.equal(failed, undefined);
  return { child, address: typeof listening === 'string' ? { path: listening } : listening };
}

async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function order(child, text) {
  child.send(text);
  return (await once(child, 'message'))[0];
}

async function connect({ port, path }) {
  const socket = net.connect(path ? { path } : { port, host: '127.0.0.1' });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** A connection on which this was sent; the first bytes have come back if `answered`. */
async function sent(address, bytes, answered = false) {
  const socket = await connect(address);
  socket.write(bytes);
  if (answered) await once(socket, 'data');
  return socket;
}

/** What a good client gets. */
async function served({ port, path }) {
  const request = http.get({ port, socketPath: path, host: '127.0.0.1', agent: false });
  const [response] = await once(request, 'response');
  return (await response.setEncoding('utf8').toArray()).join('');
}

/** Bytes of the answer to /large, without its head. */
const LARGE = 50_000_000;

/** Connections on which requests and answers go on until the server is gone; gives the first answers, and the end. */
async function loaded(address, count = 8) {
  const sockets = await Promise.all(Array.from({ length: count }, () => connect(address)));
  const closed = sockets.map((socket) => new Promise((resolve) => socket.on('close', resolve)));
  const answered = sockets.map((socket) => once(socket, 'data'));
  for (const [n, socket] of sockets.entries()) {
    // One large answer at a time: many would keep any server busy for minutes.
    const [path, bytes] = n % 2 ? ['/', 1] : ['/large', LARGE];
    let due = bytes;
    socket.on('data', () => {
      if (socket.bytesRead < due) return;
      due += bytes;
      socket.write(get(path));
    });
    socket.write(get(path).repeat(n % 2 ? 10 : 1));
  }
  await Promise.all(answered);
  return { closed: Promise.all(closed), sockets };
}

/** Asks until the server says so. */
async function until(child, holds) {
  for (;;) {
    const state = await order(child, 'state');
    if (holds(state)) return state;
  }
}

describe('clients of a server', { timeout: 60_000 }, () => {
  test('clients that send byte by byte are answered, and others meanwhile', LIMIT, async (t) => {
    const { address } = await start(t);
    const socket = await connect(address);
    const bytes = get('/');
    for (const byte of bytes.slice(0, -1)) {
      await new Promise((resolve) => socket.write(byte, resolve));
      if (byte === '\r') assert.equal(await served(address), 'hello');
    }
    socket.write(bytes.at(-1));
    assert.match(`${await once(socket, 'data')}`, /hello$/);
    socket.destroy();
  });

  test(
    'clients that never read do not make the server keep more than their responses',
    LIMIT,
    async (t) => {
      const { child, address } = await start(t);
      const before = await order(child, 'state');
      const sockets = await Promise.all(
        Array.from({ length: 10 }, async () =>
          (await sent(address, get('/') + get('/never'))).pause(),
        ),
      );
      // Far more than `maxPipelinedRequests` (1 000, some 2.5 KB each) behind one that is never answered.
      for (const socket of sockets) socket.write(get('/').repeat(10_000));
      await until(child, ({ connections }) => connections >= 10);
      assert.equal(await served(address), 'hello');
      const after = await order(child, 'state');
      assert.ok(after.rss - before.rss < 64e6, `${after.rss - before.rss} bytes`);
      for (const socket of sockets) socket.resetAndDestroy();
      await until(child, ({ connections }) => connections === 0);
    },
  );

  test('clients that leave in any phase leave nothing behind', LIMIT, async (t) => {
    const { child, address } = await start(t);
    const phases = [
      '',
      'GE',
      get('/').slice(0, -2),
      get('/'),
      get('/never'),
      get('/part'),
      get('/large'),
      get('/never') + get('/'),
      'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf',
      'POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe',
      'POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a="b"\r\nhe',
      'GET http://a/never HTTP/1.1\r\nHost: a\r\n\r\n',
    ];
    for (const leave of [(socket) => socket.destroy(), (socket) => socket.resetAndDestroy()]) {
      for (let round = 0; round < 20; round++) {
        const sockets = await Promise.all(phases.map((bytes) => sent(address, bytes)));
        for (const socket of sockets) leave(socket);
      }
    }
    await until(child, ({ connections }) => connections === 0);
    assert.equal(await served(address), 'hello');
  });

  test(
    'clients that leave within a body that only Node reads leave no memory behind',
    LIMIT,
    async (t) => {
      const { child, address } = await start(t);
      const head = 'POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
      const round = async () => {
        const body = `${head}5;a="b"\r\nhello\r\n`;
        const sockets = await Promise.all(
          Array.from({ length: 200 }, () => sent(address, body, true)),
        );
        for (const socket of sockets) socket.destroy();
        return until(child, ({ connections }) => connections === 0);
      };
      const before = await round();
      for (let n = 0; n < 4; n++) await round();
      const after = await round();
      // 1 000 of them held more than 6 MB.
      const grown = after.heapUsed - before.heapUsed;
      assert.ok(grown < 2e6, `${grown} bytes`);
    },
  );

  test('thousands of idle clients are kept, and can leave', LIMIT, async (t) => {
    const { child, address } = await start(t, { properties: { keepAliveTimeout: 60_000 } });
    const sockets = await Promise.all(
      Array.from({ length: 2_000 }, () => sent(address, get('/'), true)),
    );
    assert.equal((await order(child, 'state')).connections, 2_000);
    assert.equal(await served(address), 'hello');
    child.send('close idle');
    await Promise.all(sockets.map((socket) => once(socket, 'close')));
    await until(child, ({ connections }) => connections === 0);
  });

  test('clients above maxConnections are refused', LIMIT, async (t) => {
    const { child, address } = await start(t, { properties: { maxConnections: 1 } });
    const first = await sent(address, get('/'), true);
    const second = await sent(address, get('/'));
    await new Promise((resolve) => second.resume().on('close', resolve));
    first.destroy();
    await until(child, ({ connections }) => connections === 0);
    assert.equal(await served(address), 'hello');
  });

  test('clients are served again when descriptors are free again', LIMIT, async (t) => {
    const { address } = await start(t, {}, { limit: 64 });
    const sockets = await Promise.all(Array.from({ length: 100 }, () => connect(address)));
    const last = await sent(address, get('/'));
    for (const socket of sockets) socket.destroy();
    assert.match(`${await once(last, 'data')}`, /hello$/);
    last.destroy();
  });

  test(
    'clients with a connection are served while others use all descriptors',
    LIMIT,
    async (t) => {
      const { child, address } = await start(t, {}, { limit: 64 });
      const { sockets } = await loaded(address);
      const others = await Promise.all(Array.from({ length: 100 }, () => connect(address)));
      for (const socket of sockets) await once(socket, 'data');
      // Closing and failing to accept at the same time.
      for (const socket of [...others, ...sockets]) socket.destroy();
      await until(child, ({ connections }) => connections === 0);
      assert.equal(await served(address), 'hello');
    },
  );

  test(
    'clients of a Unix socket that use all descriptors do not affect others, and Node serves the last ones',
    LIMIT,
    async (t) => {
      const path = join(tmpdir(), `millrace-descriptors-${process.pid}`);
      const { child, address } = await start(t, { path }, { limit: 64 });
      const before = await order(child, 'state');
      const sockets = await Promise.all(Array.from({ length: 100 }, () => connect(address)));
      // Those that have no descriptor are closed, as by Node.
      const asked = sockets.map(
        (socket) =>
          new Promise((resolve) => {
            if (socket.closed) resolve('');
            socket.once('data', (bytes) => resolve(`${bytes}`)).once('close', () => resolve(''));
            socket.write(get('/'));
          }),
      );
      const answers = (await Promise.all(asked)).filter((answer) => answer !== '');
      for (const answer of answers) assert.match(answer, /hello$/);
      for (const socket of sockets) socket.destroy();
      const isFree = ({ descriptors }) => descriptors <= before.descriptors;
      const { uncaught, stats } = await until(child, isFree);
      assert.equal(uncaught, 0);
      const { native, fallback } = stats.connections;
      assert.ok(fallback > 0);
      assert.equal(stats.fallbackReasons['out-of-descriptors'], fallback);
      assert.equal(native + fallback, answers.length);
      assert.equal(await served(address), 'hello');
    },
  );

  test('clients whose heads are longer than one read are answered', LIMIT, async (t) => {
    const { address } = await start(t, { properties: { maxHeaderSize: 1 << 20 } });
    const lines = Array.from({ length: 300 }, (_, n) => `A-${n}: ${'a'.repeat(1000)}\r\n`).join('');
    const whole = await sent(address, get('/', lines));
    assert.match(`${await once(whole, 'data')}`, /^HTTP\/1.1 200 .*hello$/s);
    const parts = await connect(address);
    const answered = once(parts, 'data');
    for (const line of get('/', lines).split(/(?<=\n)/)) {
      await new Promise((resolve) => parts.write(line, resolve));
    }
    assert.match(`${await answered}`, /^HTTP\/1.1 200 .*hello$/s);
    for (const socket of [whole, parts]) socket.destroy();
  });

  test('clients that end their side after many small chunks are answered', LIMIT, async (t) => {
    const { address } = await start(t, { properties: { httpAllowHalfOpen: true } });
    const socket = await connect(address);
    const head =
      'POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
    socket.end(`${head}${'1\r\na\r\n'.repeat(20_000)}0\r\n\r\n`);
    const answer = (await socket.setEncoding('latin1').toArray()).join('');
    assert.match(answer, /^HTTP\/1.1 200 /);
    assert.equal(answer.split('\r\n\r\n')[1].match(/a/g).length, 20_000);
  });
});

describe('handlers of a server', { timeout: 60_000 }, () => {
  test('handlers that throw do not keep others from being served', LIMIT, async (t) => {
    const { address } = await start(t);
    const socket = await sent(address, get('/throw'));
    assert.equal(await served(address), 'hello');
    socket.destroy();
  });

  test('handlers that end late answer in order', LIMIT, async (t) => {
    const { child, address } = await start(t);
    const socket = await sent(address, get('/later') + get('/'));
    socket.setEncoding('utf8');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    // Any message lets the handler go on; it may have come before the request.
    while (!/later.*hello/s.test(received)) await order(child, 'state');
    socket.destroy();
  });
});

test('each request in flight is counted down once, however it ends', LIMIT, async (t) => {
  const { child, address } = await start(t);
  const sockets = await Promise.all(
    Array.from({ length: 20 }, () => sent(address, get('/after') + get('/part') + get('/never'))),
  );
  await until(child, ({ stats }) => stats.requests.inFlight === 60);
  for (const socket of sockets) socket.destroy();
  await until(
    child,
    ({ connections, stats }) => connections === 0 && stats.requests.inFlight === 0,
  );
});

describe('the end of servers, threads and processes', { timeout: 60_000 }, () => {
  test(
    'the end of a server waits for requests in flight, and closes idle connections',
    LIMIT,
    async (t) => {
      const { child, address } = await start(t);
      const idle = await sent(address, get('/'), true);
      const part = await sent(address, get('/part'), true);
      idle.resume();
      child.send('close');
      await once(idle, 'close');
      part.resume();
      child.send('close all');
      await once(part, 'close');
      const [answer] = await once(child, 'message');
      assert.deepEqual(answer, { closed: true });
    },
  );

  test('a process with live connections can end', LIMIT, async (t) => {
    const { child, address } = await start(t);
    const idle = await sent(address, get('/'), true);
    const part = await sent(address, get('/part'), true);
    const last = await sent(address, get('/exit'));
    const [code] = await once(child, 'exit');
    assert.equal(code, 3);
    for (const socket of [idle, part, last]) socket.destroy();
  });

  test('a worker thread with live connections can end', LIMIT, async (t) => {
    const { child, address } = await start(t, { threads: true });
    const sockets = await Promise.all(['/', '/part'].map((path) => sent(address, get(path), true)));
    const closed = Promise.all(sockets.map((socket) => once(socket.resume(), 'close')));
    assert.equal((await order(child, 'terminate')).terminated, 1);
    await closed;
  });

  test('worker threads that end under load release everything', { timeout: 30_000 }, async (t) => {
    const { child, address } = await start(t, { threads: true });
    const descriptors = [];
    let listening = address;
    for (let round = 0; round < 6; round++) {
      const { closed } = await loaded(listening);
      const told = await order(child, 'terminate');
      assert.equal(told.terminated, 1);
      descriptors.push(told.descriptors);
      await closed;
      ({ listening } = await order(child, 'again'));
    }
    assert.deepEqual(descriptors, Array(6).fill(descriptors[0]));
  });

  test('a process under load can end', LIMIT, async (t) => {
    const { child, address } = await start(t);
    const { closed } = await loaded(address);
    const last = await sent(address, get('/exit'));
    const [code] = await once(child, 'exit');
    assert.equal(code, 3);
    await closed;
    last.destroy();
  });
});

describe('a server in a process', { timeout: 60_000 }, () => {
  test('a server listens on a Unix socket', LIMIT, async (t) => {
    const path = join(tmpdir(), `millrace-${process.pid}.sock`);
    const { address } = await start(t, { path });
    assert.equal(await served(address), 'hello');
  });

  for (const [name, policy] of [
    ['round robin', 2],
    ['left to the system', 1],
  ]) {
    test(`a server in a cluster serves its clients, ${name}`, LIMIT, async (t) => {
      const { address } = await start(t, { policy });
      const all = await Promise.all(Array.from({ length: 50 }, () => served(address)));
      assert.deepEqual(new Set(all), new Set(['hello']));
    });
  }

  for (const [name, bytes, answer] of [
    ['headersTimeout', 'GET / HTTP/1.1\r\nHost', /^HTTP\/1\.1 408 /],
    [
      'requestTimeout',
      'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na',
      /HTTP\/1\.1 (?:408|200)/,
    ],
  ]) {
    test(`a server keeps its ${name}`, LIMIT, async (t) => {
      const properties = {
        headersTimeout: 100,
        requestTimeout: 200,
        connectionsCheckingInterval: 50,
      };
      const { address } = await start(t, { properties });
      const socket = await sent(address, bytes);
      assert.match(`${await once(socket, 'data')}`, answer);
      await once(socket.resume(), 'close');
    });
  }

  test('a server counts its keepAliveTimeout from the end of a response', LIMIT, async (t) => {
    const properties = { keepAliveTimeout: 500, keepAliveTimeoutBuffer: 0 };
    const { address } = await start(t, { properties });
    const began = performance.now();
    const socket = await sent(address, get('/slow'), true);
    await once(socket.resume(), 'close');
    const ms = performance.now() - began;
    // The response takes 1000 of them; a timer may be some too early.
    assert.ok(ms > 1400, `${ms} ms`);
  });

  test('a server keeps its keepAliveTimeout', LIMIT, async (t) => {
    const properties = { keepAliveTimeout: 10, keepAliveTimeoutBuffer: 0 };
    const { address } = await start(t, { properties });
    const socket = await sent(address, get('/'), true);
    await once(socket.resume(), 'close');
  });
});

const ROUNDS = isFull ? 27 : 5;

// A round is of 20 connections, 15 of them with 250 requests.
test(`${ROUNDS * 3750} requests with aborts leave no connections, handles or memory`, async (t) => {
  const { child, address } = await start(t);
  const round = async () => {
    const sockets = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        n % 4 === 0 ? sent(address, get('/large')) : sent(address, get('/').repeat(250), true),
      ),
    );
    for (const socket of sockets) socket.destroy();
  };
  for (let n = 0; n < 2; n++) await round();
  const before = await until(child, ({ connections }) => connections === 0);
  for (let n = 0; n < ROUNDS; n++) await round();
  // What closes connections is gone a turn later.
  const after = await until(
    child,
    ({ connections, handles }) => connections === 0 && handles.length <= before.handles.length,
  );
  assert.ok(after.rss - before.rss < (isFull ? 64e6 : 16e6), `${after.rss - before.rss} bytes`);
});
