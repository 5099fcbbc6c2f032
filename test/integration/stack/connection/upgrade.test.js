// Connections that Node's own code takes over while earlier requests are unanswered, or that the application listens to.
import '#internal/http/register.js';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { after, test } from 'node:test';
import tls from 'node:tls';
import { makeCertificates } from '../../../fixtures/tls/certificates.js';

const { authority, server: identity } = makeCertificates();
const limits = { timeout: 20_000 };
const request = (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const UPGRADE = 'GET /up HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n';
const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n';
const BIG = 'x'.repeat(8 * 1024 * 1024);

const kinds = {
  http: {
    create: (listener) => http.createServer(listener),
    connect: (port) => net.connect(port, '127.0.0.1'),
  },
  https: {
    create: (listener) => https.createServer(identity, listener),
    connect: (port) =>
      tls.connect({ port, host: '127.0.0.1', servername: 'localhost', ca: authority.cert }),
  },
};

const answers = {
  '/late': (response) => setImmediate(() => response.end('late')),
  '/parts': (response) => {
    response.write('in ');
    setImmediate(() => response.end('parts'));
  },
  '/big': (response) => response.end(BIG),
};

for (const [kind, { create, connect }] of Object.entries(kinds)) {
  const listen = async (listener) => {
    const server = create(listener);
    server.on('upgrade', (_request, socket, head) => {
      // The client goes when it has read enough.
      socket.on('error', () => {});
      socket.write(SWITCHED);
      socket.write(head);
      socket.pipe(socket);
    });
    after(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return server;
  };

  /** What comes until all of these have come. */
  const exchange = async (server, bytes, ...expected) => {
    const socket = connect(server.address().port);
    socket.write(bytes);
    let text = '';
    for await (const chunk of socket) {
      text += chunk;
      if (expected.every((one) => text.includes(one))) break;
    }
    return text;
  };

  for (const [name, paths, bodies] of [
    ['a late answer', ['/late'], ['late']],
    ['two late answers', ['/late', '/parts'], ['late', 'parts\r\n']],
    ['an answer that does not leave at once', ['/big'], [BIG]],
  ]) {
    test(`an upgrade over ${kind} comes after ${name}`, limits, async () => {
      const server = await listen((req, res) => {
        res.setHeader('Connection', 'keep-alive');
        answers[req.url](res);
      });
      const sent = `${paths.map(request).join('')}${UPGRADE}echoed`;
      // As with Node, an upgrade does not wait for the answers; what has been sent of them stays before it.
      const text = await exchange(server, sent, ...bodies, SWITCHED, 'echoed');
      if (bodies.includes(BIG)) assert.ok(text.endsWith(`${BIG}${SWITCHED}echoed`));
      const { fallbackReasons, requests } = server.stats();
      assert.deepEqual(fallbackReasons, { upgrade: 1 });
      assert.equal(requests.inFlight, 0);
    });
  }

  test(
    `an upgrade over ${kind} in the packet of a request that pauses the socket is reported`,
    limits,
    async () => {
      const server = await listen((req) => req.socket.pause());
      const text = await exchange(server, `${request('/')}${UPGRADE}`, SWITCHED);
      assert.equal(text, SWITCHED);
    },
  );

  test(`a timeout of the application over ${kind} may call the one before`, limits, async () => {
    let calls = 0;
    const server = await listen((req, res) => {
      const { socket } = req;
      const { _onTimeout: before } = socket;
      socket._onTimeout = () => {
        calls++;
        before.call(socket);
      };
      res.setTimeout(10, () => res.end('answered'));
    });
    assert.match(await exchange(server, request('/'), 'answered'), /^HTTP\/1\.1 200 OK\r\n/);
    assert.ok(calls > 0);
  });

  test(`a handler over ${kind} may listen to its connection`, limits, async () => {
    const server = await listen((req, res) => {
      req.socket.on('data', () => {});
      req.socket.once('readable', () => {});
      req.socket.addListener('data', () => {});
      res.end('answered');
    });
    const text = await exchange(server, request('/'), 'answered');
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
  });
}
