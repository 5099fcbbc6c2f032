// A server that ends while kept connections send requests: each request that it was told of has its answer, and the
// process ends by itself.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isFull } from '../../../fixtures/size.js';
import { REGISTER } from '../../../fixtures/stack/comparison/two-processes.js';

const LIMIT = { timeout: 30_000 };
const CONNECTIONS = isFull ? 1000 : 100;
const SERVER = fileURLToPath(
  new URL('../../../fixtures/stack/connection/shutdown-server.js', import.meta.url),
);

/** Sends one request after the other until the connection ends; `answered` has those with an answer. */
function ask(port, answered, begun) {
  const socket = net.connect(port, '127.0.0.1');
  let path;
  let received = '';
  const next = () => {
    path = `/${begun.count++}`;
    socket.write(get(path));
  };
  socket.setEncoding('latin1').on('connect', next);
  socket.on('data', (chunk) => {
    received += chunk;
    if (!received.endsWith('\r\n\r\ndone')) return;
    received = '';
    answered.add(path);
    next();
  });
  // A request that crosses the end is reset, as with Node.
  socket.on('error', () => {});
  return new Promise((resolve) => socket.on('close', resolve));
}

const get = (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

/** A connection with an answer. */
async function kept(port) {
  const socket = net.connect(port, '127.0.0.1').setEncoding('latin1');
  socket.write(get('/kept'));
  await once(socket, 'data');
  return socket;
}

const ways = {
  'SIGTERM, and `Connection: close` from then on': [
    'close field',
    (child) => child.kill('SIGTERM'),
  ],
  'SIGTERM, and closeIdleConnections()': ['idle connections', (child) => child.kill('SIGTERM')],
  'close() in the midst of what has come at once': [
    'close field',
    (_child, port) => net.connect(port, '127.0.0.1').end('GET /close HTTP/1.1\r\nHost: a\r\n\r\n'),
  ],
};

describe('a server that ends under load', LIMIT, () => {
  for (const [name, [how, end]] of Object.entries(ways)) {
    test(`a server ends under load by ${name}`, LIMIT, async (t) => {
      const child = fork(SERVER, [how], { execArgv: ['--import', REGISTER] });
      t.after(() => child.kill('SIGKILL'));
      const [{ port }] = await once(child, 'message');
      const [answered, begun] = [new Set(), { count: 0 }];
      const closed = Array.from({ length: CONNECTIONS }, () => ask(port, answered, begun));
      while (answered.size < 5 * CONNECTIONS) await new Promise(setImmediate);
      const last = once(child, 'message');
      const exit = once(child, 'exit');
      end(child, port);
      await Promise.all(closed);
      const [{ told }] = await last;
      assert.deepEqual(
        told.filter((path) => !answered.has(path)),
        [],
      );
      assert.deepEqual(await exit, [0, null]);
    });
  }

  test('close() does not lose requests that arrived together with it', LIMIT, async (t) => {
    const child = fork(SERVER, ['close field'], { execArgv: ['--import', REGISTER] });
    t.after(() => child.kill('SIGKILL'));
    const [{ port }] = await once(child, 'message');
    const [blocking, closing, idle] = [await kept(port), await kept(port), await kept(port)];
    const blocked = once(child, 'message');
    blocking.write(get('/block'));
    await blocked;
    closing.write(get('/close'));
    idle.write(get('/kept-again'));
    const fresh = net.connect(port, '127.0.0.1').setEncoding('latin1');
    fresh.write(get('/fresh'));
    const answers = [blocking, closing, idle, fresh].map((socket) => text(socket));
    for (const answer of await Promise.all(answers)) assert.match(answer, /done$/);
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });
});
