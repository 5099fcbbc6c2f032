// HTTPS on the native stack, with Node.js's own client, raw sockets and, where it is there, openssl s_client. One file: all of it
// needs the same certificates and servers.
import '#internal/http/register.js';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { Duplex } from 'node:stream';
import { after, test } from 'node:test';
import tls from 'node:tls';
import { makeCertificates } from '../../../fixtures/tls/certificates.js';

const made = makeCertificates();
const { authority, server: identity } = made;

const open = new Set();
after(() => {
  for (const server of open) {
    server.closeAllConnections();
    server.close();
  }
});

/** A server that says what it knows of the connection, or what `handler` says. */
async function listen(options, handler = tell) {
  const server = https.createServer({ ...identity, ...options }, handler);
  open.add(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function tell(request, response) {
  const { socket } = request;
  response.end(
    JSON.stringify({
      protocol: socket.getProtocol(),
      cipher: socket.getCipher(),
      reused: socket.isSessionReused(),
      servername: socket.servername,
      alpn: socket.alpnProtocol,
      authorized: socket.authorized,
      authorizationError: socket.authorizationError,
      encrypted: request.connection.encrypted,
      isTls: socket instanceof tls.TLSSocket && socket instanceof net.Socket,
      peer: socket.getPeerCertificate().subject?.CN ?? null,
    }),
  );
}

/** One request on a connection of its own; `secure`: options of the connection. */
function get(server, secure = {}, path = '/') {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: server.address().port,
      path,
      agent: false,
      ca: authority.cert,
      servername: 'localhost',
      ...secure,
    };
    const request = https.get(options, async (response) => {
      const { socket } = response;
      const name = socket.getPeerCertificate().subject?.CN;
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode, text, name, socket });
    });
    request.on('error', reject);
  });
}

async function told(server, secure) {
  return JSON.parse((await get(server, secure)).text);
}

function served({ connections, fallbackReasons }) {
  return { native: connections.native, fallback: connections.fallback, fallbackReasons };
}

for (const version of ['TLSv1.2', 'TLSv1.3']) {
  test(`${version} is spoken, and the socket says so`, async () => {
    const server = await listen();
    const ALPNProtocols = ['h2', 'http/1.1'];
    const facts = await told(server, { minVersion: version, maxVersion: version, ALPNProtocols });
    const suite =
      version === 'TLSv1.3' ? 'TLS_AES_256_GCM_SHA384' : 'ECDHE-ECDSA-AES128-GCM-SHA256';
    assert.equal(facts.protocol, version);
    assert.equal(facts.cipher.name, suite);
    assert.equal(facts.cipher.version, version);
    assert.equal(facts.servername, 'localhost');
    assert.equal(facts.alpn, 'http/1.1');
    assert.equal(facts.reused, false);
    assert.equal(facts.encrypted, true);
    assert.equal(facts.isTls, true);
    assert.equal(facts.authorized, false);
    assert.equal(facts.authorizationError, null);
    assert.deepEqual(served(server.stats()), { native: 1, fallback: 0, fallbackReasons: {} });
  });

  test(`${version} sessions are resumed, also across servers with the same ticket keys`, async () => {
    const ticketKeys = randomBytes(48);
    const first = await listen({ ticketKeys, sessionIdContext: 'a' });
    const second = await listen({ ticketKeys, sessionIdContext: 'a' });
    const stranger = await listen({ ticketKeys, sessionIdContext: 'b' });
    const secure = { minVersion: version, maxVersion: version };
    const session = await sessionOf(first, secure);
    assert.equal((await told(first, { ...secure, session })).reused, true);
    assert.equal((await told(second, { ...secure, session })).reused, true);
    assert.equal((await told(stranger, { ...secure, session })).reused, false);
    first.setTicketKeys(randomBytes(48));
    assert.equal((await told(first, { ...secure, session })).reused, false);
  });

  test(`${version} clients are served with and without a certificate`, async () => {
    const server = await listen({
      requestCert: true,
      rejectUnauthorized: false,
      ca: authority.cert,
    });
    const secure = { minVersion: version, maxVersion: version };
    const check = async (shown) => {
      const { authorized, authorizationError, peer } = await told(server, { ...secure, ...shown });
      return [authorized, authorizationError, peer];
    };
    assert.deepEqual(await check({}), [false, 'UNABLE_TO_GET_ISSUER_CERT', null]);
    assert.deepEqual(await check(made.client), [true, null, 'client']);
    assert.deepEqual(await check(made.stranger), [
      false,
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'stranger',
    ]);
    assert.deepEqual(await check(made.underStranger), [
      false,
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'underStranger',
    ]);
    if (version === 'TLSv1.3') {
      assert.deepEqual(await check(made.version1), [true, null, 'version1']);
    }
    assert.equal(server.stats().connections.fallback, 0);
  });
}

async function sessionOf(server, secure) {
  const options = { port: server.address().port, host: '127.0.0.1', ca: authority.cert };
  const client = tls.connect({ ...options, servername: 'localhost', ...secure });
  const session = once(client, 'session');
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [ticket] = await session;
  client.destroy();
  return ticket;
}

test('a client without the right certificate is refused and reported', async () => {
  const server = await listen({ requestCert: true, ca: authority.cert });
  const errors = [];
  server.on('tlsClientError', (error) => errors.push(error.code));
  for (const shown of [{}, made.stranger]) {
    const error = once(server, 'tlsClientError');
    await assert.rejects(get(server, shown));
    await error;
  }
  assert.deepEqual(errors, ['ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE', 'ECONNRESET']);
  assert.equal((await get(server, made.client)).status, 200);
});

test('the peer certificate is returned in its forms', async () => {
  const server = await listen({ requestCert: true, ca: authority.cert }, (request, response) => {
    const { socket } = request;
    const detailed = socket.getPeerCertificate(true);
    response.end(
      JSON.stringify({
        issuer: detailed.issuerCertificate.subject.CN,
        root: detailed.issuerCertificate.issuerCertificate === detailed.issuerCertificate,
        fingerprint: detailed.fingerprint256 === socket.getPeerX509Certificate().fingerprint256,
        own: socket.getCertificate().subject.CN,
      }),
    );
  });
  assert.deepEqual(JSON.parse((await get(server, made.client)).text), {
    issuer: 'authority',
    root: true,
    fingerprint: true,
    own: 'server',
  });
});

test('server names select contexts: exact, wildcard, the last one added, none', async () => {
  const server = await listen();
  server.addContext('other.example', made.serverRsa);
  server.addContext('other.example', made.other);
  server.addContext('*.wild.example', tls.createSecureContext(made.wild));
  const name = async (servername) =>
    (await get(server, { servername, checkServerIdentity: () => undefined })).name;
  assert.equal(await name('other.example'), 'other');
  assert.equal(await name('a.wild.example'), 'wild');
  assert.equal(await name('a.b.wild.example'), 'server');
  assert.equal(await name('localhost'), 'server');
  assert.equal(server.stats().connections.fallback, 0);
});

test('SNICallback may answer later, with a context, with none, or with an error', async () => {
  const server = await listen({
    SNICallback(name, done) {
      setImmediate(() => {
        if (name === 'bad.example') done(new Error('no'));
        else if (name === 'other.example') done(null, tls.createSecureContext(made.other));
        else done(null);
      });
    },
  });
  const any = { checkServerIdentity: () => undefined };
  assert.equal((await get(server, { ...any, servername: 'other.example' })).name, 'other');
  assert.equal((await get(server, { ...any, servername: 'localhost' })).name, 'server');
  const failed = once(server, 'tlsClientError');
  await assert.rejects(get(server, { ...any, servername: 'bad.example' }));
  assert.equal((await failed)[0].message, 'no');
  assert.equal(server.stats().connections.fallback, 0);
});

test('setSecureContext changes the certificate of new connections', async () => {
  const server = await listen();
  assert.equal((await get(server)).name, 'server');
  server.setSecureContext(made.serverRsa);
  assert.equal((await get(server)).name, 'serverRsa');
});

test('with two identities the client decides by the one that it can verify', async () => {
  const server = await listen({
    cert: [made.serverRsa.cert, identity.cert],
    key: [made.serverRsa.key, identity.key],
  });
  assert.equal((await get(server, { sigalgs: 'RSA-PSS+SHA256' })).name, 'serverRsa');
  assert.equal((await get(server, { sigalgs: 'ECDSA+SHA256' })).name, 'server');
  assert.equal(server.stats().connections.fallback, 0);
});

test('a key with a passphrase is accepted', async () => {
  const server = await listen(made.locked);
  assert.equal((await get(server)).status, 200);
  assert.equal(server.stats().connections.native, 1);
});

for (const [name, options, reason] of [
  ['pfx', { pfx: made.pfx, key: undefined, cert: undefined }, 'tls-option:pfx'],
  ['a class of ciphers', { ciphers: 'ALL:@SECLEVEL=0' }, 'tls-option:ciphers'],
  ['ALPNCallback', { ALPNCallback: () => 'http/1.1' }, 'tls-option:ALPNCallback'],
]) {
  test(`${name} is served by Node's own code, and counted`, async () => {
    const server = await listen(options);
    assert.equal((await get(server)).status, 200);
    assert.deepEqual(served(server.stats()), {
      native: 0,
      fallback: 1,
      fallbackReasons: { [reason]: 1 },
    });
    assert.equal(server.stats().requests.fallback, 1);
  });
}

test("named ciphers are used in their order or in the client's, and others by Node", async () => {
  const names = ['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-AES128-GCM-SHA256'];
  const ciphers = [...names, 'AES128-SHA', '!aNULL'].join(':');
  const old = { maxVersion: 'TLSv1.2' };
  const server = await listen({ ciphers });
  const cipher = async (target, secure) => (await told(target, { ...old, ...secure })).cipher.name;
  assert.equal(await cipher(server, { ciphers: names.toReversed().join(':') }), names[0]);
  const yielding = await listen({ ciphers, honorCipherOrder: false });
  assert.equal(await cipher(yielding, { ciphers: names.toReversed().join(':') }), names[1]);
  assert.deepEqual(server.stats().fallbackReasons, {});
  await listen({ ciphers: 'TLS_AES_128_GCM_SHA256', minVersion: 'TLSv1.3' }).then(async (modern) =>
    assert.equal((await told(modern)).cipher.name, 'TLS_AES_128_GCM_SHA256'),
  );
  const both = await listen({ ...made.serverRsa, ciphers });
  assert.equal((await get(both, { ...old, ciphers: 'AES128-SHA' })).status, 200);
  assert.deepEqual(both.stats().fallbackReasons, { 'tls-parameters': 1 });
});

for (const cipher of [
  'TLS_AES_256_GCM_SHA384',
  'TLS_AES_128_GCM_SHA256',
  'TLS_CHACHA20_POLY1305_SHA256',
]) {
  test(`a session with ${cipher} is full, resumed, and resumed by another server with the ticket keys`, async () => {
    const first = await listen();
    const second = await listen();
    second.setTicketKeys(first.getTicketKeys());
    const secure = { ciphers: cipher, minVersion: 'TLSv1.3' };
    const session = await sessionOf(first, secure);
    for (const [server, options, reused] of [
      [first, secure, false],
      [first, { ...secure, session }, true],
      [second, { ...secure, session }, true],
    ]) {
      const facts = await told(server, options);
      assert.equal(facts.cipher.name, cipher);
      assert.equal(facts.reused, reused);
    }
    assert.deepEqual(
      [first, second].map((server) => server.stats().fallbackReasons),
      [{}, {}],
    );
  });
}

test('a client with old suites only is served by Node, with its first bytes', async () => {
  const server = await listen(made.serverRsa);
  const { status } = await get(server, { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA' });
  assert.equal(status, 200);
  assert.deepEqual(served(server.stats()).fallbackReasons, { 'tls-parameters': 1 });
});

/** The first bytes of Node's own client. */
function clientHello(options) {
  return new Promise((resolve) => {
    const socket = new Duplex({ read() {}, write: (bytes) => resolve(bytes) });
    tls.connect({ socket, ...options }).on('error', () => {});
  });
}

/** Sends bytes to a server and gives the error that it tells of. */
async function failure(server, send) {
  const failed = once(server, 'tlsClientError');
  const client = net.connect(server.address().port, '127.0.0.1');
  client.on('error', () => {});
  await once(client, 'connect');
  send(client);
  const [error, socket] = await failed;
  assert.equal(socket.destroyed || socket.writable, true);
  client.destroy();
  return error.code;
}

test('garbage, plain HTTP, an end and a reset in the handshake are reported as by Node', async () => {
  const server = await listen();
  assert.equal(
    await failure(server, (client) => client.write('GET / HTTP/1.1\r\n\r\n')),
    'ERR_SSL_HTTP_REQUEST',
  );
  assert.equal(
    await failure(server, (client) => client.write(randomBytes(64).fill(1))),
    'ERR_SSL_WRONG_VERSION_NUMBER',
  );
  assert.equal(await failure(server, (client) => client.end()), 'ECONNRESET');
  const half = Buffer.from('160301020001', 'hex');
  assert.equal(await failure(server, (client) => client.end(half)), 'ECONNRESET');
  assert.equal(await failure(server, (client) => client.resetAndDestroy()), 'ECONNRESET');
  assert.equal((await get(server)).status, 200);
});

test('an alert of the client is reported by its name', async () => {
  const server = await listen();
  const hello = await clientHello({ maxVersion: 'TLSv1.2' });
  const code = await failure(server, (client) => {
    client.write(hello);
    // Fatal, unknown_ca (RFC 5246, section 7.2).
    client.once('data', () => client.write(Buffer.from('15030300020230', 'hex')));
  });
  assert.equal(code, 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA');
});

test('a slow handshake ends after handshakeTimeout, and one byte at a time suffices before', async () => {
  const server = await listen({ handshakeTimeout: 300 });
  assert.equal(await failure(server, () => {}), 'ERR_TLS_HANDSHAKE_TIMEOUT');
  const slow = await listen();
  const proxy = net.createServer((from) => {
    const to = net.connect(slow.address().port, '127.0.0.1');
    from.on('data', (bytes) => {
      for (const byte of bytes) to.write(Buffer.of(byte));
    });
    to.setNoDelay(true).pipe(from);
    for (const side of [from, to]) side.on('error', () => {});
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  assert.equal((await get(proxy)).status, 200);
  proxy.close();
});

test('connections that end in any phase do not affect the server', async () => {
  const server = await listen();
  const { port } = server.address();
  for (let cut = 1; cut < 600; cut += 23) {
    // A client whose bytes are cut off after `cut`.
    await new Promise((resolve) => {
      const to = net.connect(port, '127.0.0.1');
      const relay = net.createServer((from) => {
        let left = cut;
        from.on('data', (bytes) => {
          to.write(bytes.subarray(0, left));
          left -= bytes.length;
          if (left <= 0) {
            to.destroy();
            from.destroy();
            relay.close(resolve);
          }
        });
        to.on('data', (bytes) => from.write(bytes));
        for (const side of [from, to]) side.on('error', () => {});
      });
      relay.listen(0, '127.0.0.1', () => {
        const options = {
          port: relay.address().port,
          host: '127.0.0.1',
          rejectUnauthorized: false,
        };
        const client = tls.connect(options, () => client.write('GET / HTTP/1.1\r\n'.repeat(40)));
        client.on('error', () => {});
      });
    });
  }
  assert.equal((await get(server)).status, 200);
});

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
