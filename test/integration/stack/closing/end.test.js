// A connection's last response leaves with the end of the connection; nothing waits for an end that does not come.
import '#internal/http/register.js';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { after, test } from 'node:test';
import { load } from '#internal/index.js';
import { makeCertificates } from '../../../fixtures/tls/certificates.js';

const LAST = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

async function listen(server) {
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

/** What comes up to the end of the response, if the connection's end comes with it or not. */
async function untilAnswered(port, request = LAST) {
  const socket = net.connect(port, '127.0.0.1');
  socket.write(request);
  let text = '';
  for await (const chunk of socket) {
    text += chunk;
    if (text.endsWith('the last')) break;
  }
  return text;
}

/** As often as it takes for the time that the system holds such bytes (tcp(7), TCP_CORK: 200 ms) to be seen. */
async function answeredManyTimes(port) {
  for (let times = 0; times < 60; times++) {
    assert.match(await untilAnswered(port), /\r\n\r\nthe last$/);
  }
}

/** A socket whose end is left to somebody else. */
function withoutEnd(socket) {
  socket.destroySoon = () => {};
}

const turns = {
  'in the turn of the request': (answer) => answer(),
  'in a later one': (answer) => setImmediate(answer),
  'in a tick': (answer) => process.nextTick(answer),
};

for (const [when, later] of Object.entries(turns)) {
  test(`the last response is not delayed by a connection that stays open, ${when}`, {
    timeout: 5000,
  }, async () => {
    const server = http.createServer((request, response) => {
      withoutEnd(request.socket);
      later(() => response.end('the last'));
    });
    const port = await listen(server);
    await answeredManyTimes(port);
  });

  test(`the last response is not delayed by a connection that is destroyed, ${when}`, {
    timeout: 5000,
  }, async () => {
    const server = http.createServer((request, response) => {
      withoutEnd(request.socket);
      response.on('finish', () => request.socket.destroy());
      later(() => response.end('the last'));
    });
    const port = await listen(server);
    await answeredManyTimes(port);
  });
}

test('a server that sends Connection: close ends as if the client had sent it', {
  timeout: 5000,
}, async () => {
  const server = http.createServer((_request, response) => {
    response.setHeader('Connection', 'close');
    response.write('not ');
    setImmediate(() => response.end('the last'));
  });
  const port = await listen(server);
  const socket = net.connect(port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  let text = '';
  for await (const chunk of socket) text += chunk;
  assert.match(text, /^8\r\nthe last\r\n0\r\n\r\n$/m);
});

test('over TLS the end is announced, so that a body that ends with the connection is complete', async () => {
  const { server: identity } = makeCertificates();
  const server = https.createServer(identity, (_request, response) => {
    response.useChunkedEncodingByDefault = false;
    response.write('one ');
    setImmediate(() => response.end('the last'));
  });
  const port = await listen(server);
  // This client takes an end without close_notify (RFC 8446, section 6.1) for a truncated body.
  const result = await load({
    url: `https://localhost:${port}/`,
    insecure: true,
    connections: 1,
    requests: 20,
  });
  assert.deepEqual(
    [result.requests.ok, result.requests.transportErrors, result.statusCodes],
    [20, 0, { 200: 20 }],
  );
});
