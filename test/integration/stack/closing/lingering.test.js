// What is answered before all of a request was read reaches its client, which sends on meanwhile; what then comes is
// read and dropped, within limits.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import tls from 'node:tls';
import { createServer } from 'millrace/http';
import { createServer as createSecureServer } from 'millrace/https';
import { listen } from '../../../fixtures/stack/listen.js';
import { makeCertificates } from '../../../fixtures/tls/certificates.js';

const limits = { timeout: 20_000 };
/** More than the buffers of both systems hold. */
const BODY = 16 << 20;
const PIECE = Buffer.alloc(1 << 20);
const post = (fields) => `POST / HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`;

/** What a client gets that reads only when it has sent all. */
async function sentAll(socket, head, bytes = BODY) {
  socket.write(head);
  for (let sent = 0; sent < bytes; sent += PIECE.length) {
    await new Promise((resolve, reject) => {
      socket.write(PIECE, (error) => (error ? reject(error) : resolve()));
    });
  }
  return text(socket);
}

const refusing = (_request, response) => {
  response.writeHead(413, { Connection: 'close', 'Content-Length': 9 });
  response.end('too large');
};

const answers = {
  'a handler that refuses the body': {
    listener: refusing,
    head: post(`Content-Length: ${BODY}`),
    expected: /^HTTP\/1\.1 413 .*too large$/s,
  },
  'a handler that reads, and does not answer in time': {
    options: { responseTimeout: 100 },
    listener: (request) => request.resume(),
    head: post(`Content-Length: ${4 * BODY}`),
    expected: /^HTTP\/1\.1 408 /,
  },
  'a handler that neither reads nor answers in time': {
    options: { responseTimeout: 100 },
    listener: () => {},
    head: post(`Content-Length: ${BODY}`),
    expected: /^HTTP\/1\.1 408 /,
  },
  'a body that is not chunked as it says': {
    listener: (request) => request.on('error', () => {}),
    head: `${post('Transfer-Encoding: chunked')}no number\r\n`,
    expected: /^HTTP\/1\.1 400 /,
  },
};

describe('a client that sends everything before it reads', limits, () => {
  for (const [what, { options = {}, listener, head, expected }] of Object.entries(answers)) {
    test(
      `a client that sends everything before it reads gets its response from ${what}`,
      limits,
      async (t) => {
        const server = createServer(options, listener);
        const socket = net.connect(await listen(t, server), '127.0.0.1');
        assert.match(await sentAll(socket, head), expected);
      },
    );
  }

  test(
    'a client that sends everything before it reads gets its response over TLS',
    limits,
    async (t) => {
      const { authority, server: identity } = makeCertificates();
      const port = await listen(t, createSecureServer(identity, refusing));
      const socket = tls.connect({
        port,
        host: '127.0.0.1',
        ca: authority.cert,
        servername: 'localhost',
      });
      await once(socket, 'secureConnect');
      assert.match(await sentAll(socket, post(`Content-Length: ${BODY}`)), /^HTTP\/1\.1 413 /);
    },
  );

  test('a client that sends everything before it reads is not read for ever', limits, async (t) => {
    const port = await listen(t, createServer(refusing));
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const size = 2 ** 30;
    await assert.rejects(sentAll(socket, post(`Content-Length: ${size}`), size), {
      code: /ECONNRESET|EPIPE/,
    });
  });
});

test(
  'the connection is over for the application while the client still sends',
  limits,
  async (t) => {
    const server = createServer(refusing);
    const closed = once(server, 'connection').then(([socket]) => once(socket, 'close'));
    const socket = net.connect(await listen(t, server), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`${post('Content-Length: 1000')}a part`);
    await closed;
    const count = await new Promise((resolve) => server.getConnections((_, n) => resolve(n)));
    assert.equal(count, 0);
    const ended = once(server.close(), 'close');
    await ended;
    socket.write('more');
    assert.match(await text(socket), /^HTTP\/1\.1 413 /);
  },
);

test('connections of a server beyond a bound are closed at once', limits, async (t) => {
  const port = await listen(t, createServer(refusing));
  const sockets = [];
  for (let n = 0; n < 300; n++) {
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(`${post('Content-Length: 1000')}a part`);
    sockets.push(socket);
    await once(socket.resume(), 'end');
  }
  // What comes to a closed connection is reset; the next write fails.
  const errors = sockets.map((socket) => {
    return new Promise((resolve) => socket.on('error', resolve).on('close', () => resolve(null)));
  });
  for (const socket of sockets) socket.write('more', () => socket.end('again'));
  const reset = (await Promise.all(errors)).filter((error) => error !== null);
  assert.equal(sockets.length - reset.length, 256);
});

test(
  'a connection that a timer closes is let go though nothing else happens',
  limits,
  async (t) => {
    const server = createServer({ keepAliveTimeout: 0 }, ({ socket }) => {
      socket.end('HTTP/1.1 200 OK\r\n\r\n');
      setTimeout(50).then(() => socket.destroy());
    });
    const client = net.connect({
      port: await listen(t, server),
      host: '127.0.0.1',
      allowHalfOpen: true,
    });
    t.after(() => client.destroy());
    client.write(post('Content-Length: 9'));
    await once(client.resume(), 'end');
    // Longer than a silent peer is heard.
    await setTimeout(5_500);
    const failed = once(client, 'error');
    // The first of them is answered by a reset, which the next one finds.
    for (let n = 0; n < 3; n++) {
      client.write('x');
      await setTimeout(50);
    }
    const [error] = await failed;
    assert.match(error.code, /^(ECONNRESET|EPIPE)$/);
  },
);
