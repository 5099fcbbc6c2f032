// HTTPS on the native stack: what goes through a connection, in both directions, with Node.js's own client, raw sockets and, where
// it is there, openssl s_client.
import '#internal/http/register.js';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { get, listen, made, served } from '../../../fixtures/tls/https-server.js';

const { authority } = made;

test('large bodies are transferred in both directions with backpressure', async () => {
  const size = 20 * 1024 * 1024;
  const server = await listen({}, (request, response) => {
    response.setHeader('Connection', 'close');
    request.pipe(response);
  });
  const sent = randomBytes(size);
  const hash = createHash('sha256');
  await new Promise((resolve, reject) => {
    const options = { port: server.address().port, host: '127.0.0.1', ca: authority.cert };
    const request = https.request({
      ...options,
      servername: 'localhost',
      method: 'POST',
      agent: false,
    });
    request.on('response', (response) => {
      response.on('data', (chunk) => hash.update(chunk));
      response.on('end', resolve);
    });
    request.on('error', reject);
    request.end(sent);
  });
  assert.equal(hash.digest('hex'), createHash('sha256').update(sent).digest('hex'));
  assert.equal(server.stats().connections.fallback, 0);
});

test('pipelined requests are answered in order, in one record each turn', async () => {
  const server = await listen({}, (request, response) => response.end(request.url));
  const client = tls.connect({
    port: server.address().port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
  });
  await once(client, 'secureConnect');
  const paths = Array.from({ length: 200 }, (_, at) => `/${at}`);
  client.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  let text = '';
  for await (const chunk of client) {
    text += chunk;
    if (text.endsWith('/199')) break;
  }
  assert.deepEqual(text.match(/^\/\d+/gm), paths);
});

test('the end of TLS is announced to a client that waits for it', async () => {
  const server = await listen({}, (_request, response) => {
    response.setHeader('Connection', 'close');
    response.end('x');
  });
  const client = tls.connect({
    port: server.address().port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
  });
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  client.resume();
  await once(client, 'end');
  client.destroy();
});

test("'connection' has the socket below TLS, 'secureConnection' the secure one", async () => {
  const server = await listen();
  const seen = [];
  let closed;
  server.on('connection', (socket) => {
    seen.push(['connection', socket instanceof net.Socket, socket.encrypted, socket.remoteAddress]);
    closed = once(socket, 'close');
  });
  server.on('secureConnection', (socket) => seen.push(['secure', socket.encrypted]));
  await get(server);
  await closed;
  assert.deepEqual(seen, [
    ['connection', true, undefined, '127.0.0.1'],
    ['secure', true],
  ]);
});

test('what is read from the socket below TLS, or written to it, is none of its records', async () => {
  const server = await listen({}, (_request, response) => response.end('hello'));
  const read = [];
  let closed;
  server.on('connection', (socket) => {
    closed = once(socket, 'close');
    socket.on('data', (bytes) => read.push(String(bytes)));
    socket.push('mine');
    socket.write('x');
  });
  const { text } = await get(server);
  await closed;
  assert.deepEqual([text, read], ['hello', ['mine']]);
  assert.deepEqual(served(server.stats()), { native: 1, fallback: 0, fallbackReasons: {} });
  assert.equal(server.stats().connections.open, 0);
});

test('an upgrade passes text both ways: first the bytes after the head, then the end', async () => {
  const server = await listen();
  server.on('upgrade', (request, socket, head) => {
    assert.equal(request.headers.upgrade, 'echo');
    assert.equal(socket.encrypted, true);
    assert.equal(socket.getProtocol(), 'TLSv1.3');
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n',
    );
    if (head.length > 0) socket.unshift(head);
    socket.pipe(socket);
  });
  const client = tls.connect({
    port: server.address().port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
  });
  await once(client, 'secureConnect');
  const body = randomBytes(3 * 1024 * 1024);
  client.write('GET /first HTTP/1.1\r\nHost: a\r\n\r\n');
  client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhead');
  client.end(body);
  const chunks = [];
  for await (const chunk of client) chunks.push(chunk);
  const all = Buffer.concat(chunks);
  const at = all.indexOf('\r\n\r\n', all.indexOf(' 101 ')) + 4;
  assert.deepEqual(all.subarray(at), Buffer.concat([Buffer.from('head'), body]));
  assert.deepEqual(server.stats().fallbackReasons, { upgrade: 1 });
});

test("a 'data' listener on a secure socket gets all bytes, and Node serves the requests", async () => {
  const server = await listen({}, (request, response) => response.end(request.url));
  let seen = '';
  server.on('secureConnection', (socket) => socket.on('data', (bytes) => (seen += bytes)));
  assert.equal((await get(server, {}, '/one')).text, '/one');
  assert.match(seen, /^GET \/one HTTP\/1\.1\r\n/);
  assert.deepEqual(server.stats().fallbackReasons, { 'raw-data-listener': 1 });
});

test('requests that the reactor does not handle are read by Node on the same connection', async () => {
  const server = await listen({}, (request, response) => response.end(request.headers['x-odd']));
  const client = tls.connect({
    port: server.address().port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
  });
  await once(client, 'secureConnect');
  client.write('GET http://a/ HTTP/1.1\r\nHost: a\r\nX-Odd: one\r\n\r\n');
  const [answer] = await once(client, 'data');
  assert.match(String(answer), /one$/);
  const failed = once(server, 'clientError');
  client.write('GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n');
  const [error, socket] = await failed;
  assert.equal(error.code, 'HPE_INVALID_HEADER_TOKEN');
  socket.destroy();
  client.destroy();
});

test('a connection that Node reads keeps its server, also with a limit of requests', async () => {
  const server = await listen({}, (request, response) =>
    response.end(String(request.socket.server === server)),
  );
  server.maxRequestsPerSocket = 10;
  const client = tls.connect({
    port: server.address().port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
  });
  await once(client, 'secureConnect');
  for (const target of ['/', 'http://a/', '/']) {
    client.write(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
    assert.match(String((await once(client, 'data'))[0]), /true$/);
  }
  assert.deepEqual(server.stats().fallbackReasons, { 'unsupported-request': 1 });
  client.destroy();
});

test('exportKeyingMaterial returns the same as at the client', async () => {
  const server = await listen({}, (request, response) =>
    response.end(
      request.socket.exportKeyingMaterial(32, 'EXPERIMENTAL-x', Buffer.from('c')).toString('hex'),
    ),
  );
  const client = tls.connect({
    port: server.address().port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
  });
  await once(client, 'secureConnect');
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [answer] = await once(client, 'data');
  const expected = client
    .exportKeyingMaterial(32, 'EXPERIMENTAL-x', Buffer.from('c'))
    .toString('hex');
  assert.ok(String(answer).endsWith(expected));
  client.destroy();
});

test('invalid, late and unknown calls of a secure socket fail as with Node', async () => {
  const server = await listen();
  const client = tls.connect({
    port: server.address().port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
  });
  const [socket] = await once(server, 'secureConnection');
  for (const [args, code] of [
    [[0, 'a'], 'ERR_OUT_OF_RANGE'],
    [['20', 'a'], 'ERR_INVALID_ARG_TYPE'],
    [[20, 3], 'ERR_INVALID_ARG_TYPE'],
    [[20, 'a', 'context'], 'ERR_INVALID_ARG_TYPE'],
    [[20_000, 'a'], 'ERR_SSL_INTERNAL_ERROR'],
  ]) {
    assert.throws(() => socket.exportKeyingMaterial(...args), { code });
  }
  const names = ['getSession', 'getTLSTicket', 'getFinished', 'getPeerFinished'];
  for (const name of names) assert.equal(socket[name](), undefined);
  socket.destroy();
  for (const name of [...names, 'isSessionReused']) assert.equal(socket[name](), null);
  assert.throws(() => socket.exportKeyingMaterial(20, 'a'), { code: 'ERR_TLS_INVALID_STATE' });
  client.destroy();
});

test('openssl s_client can handshake, update its key and end', {
  skip: process.platform !== 'linux',
}, async () => {
  const server = await listen();
  const target = `127.0.0.1:${server.address().port}`;
  const child = spawn('openssl', ['s_client', '-connect', target, '-quiet', '-no_ign_eof'], {
    stdio: 'pipe',
  });
  child.stdin.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [answer] = await once(child.stdout, 'data');
  assert.match(String(answer), /^HTTP\/1\.1 200 OK/);
  // `K` alone on a line asks for new keys on both sides.
  child.stdin.write('K\n');
  for await (const chunk of child.stderr) if (String(chunk).includes('KEYUPDATE')) break;
  child.stdin.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [again] = await once(child.stdout, 'data');
  assert.match(String(again), /^HTTP\/1\.1 200 OK/);
  child.stdin.end('Q\n');
  await once(child, 'close');
});

test('plain HTTP is not affected', async () => {
  const server = http.createServer((_request, response) => response.end('plain'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const response = await fetch(`http://127.0.0.1:${server.address().port}/`);
  assert.equal(await response.text(), 'plain');
  server.closeAllConnections();
  server.close();
});
