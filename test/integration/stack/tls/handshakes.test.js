// HTTPS on the native stack: what client and server agree on, and how a handshake fails; with Node.js's own client and raw sockets.
import '#internal/http/register.js';
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import tls from 'node:tls';
import { get, listen, made, served, sessionOf, told } from '../../../fixtures/tls/https-server.js';

const { authority, server: identity } = made;

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
