// NTLM and Negotiate authenticate a connection: its later requests are the user's without saying so. They bypass the cache.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import tls from 'node:tls';
import { createServer as createSecureServer } from 'millrace/https';
import {
  ask,
  exchange,
  get,
  last,
  limits,
  responses,
  serve,
} from '../../../fixtures/stack/cache/servers.js';
import { makeCertificates } from '../../../fixtures/tls/certificates.js';

/** Knows the user by the connection from then on, as middleware for these schemes does. */
function answer(request, response) {
  const { authorization, 'proxy-authorization': proxied } = request.headers;
  if (/^(ntlm|negotiate)\b/i.test(authorization ?? proxied ?? '')) request.socket.user = 'alice';
  const body = request.socket.user ?? 'everybody';
  // Without a length, the response to HTTP/1.0 ends with the connection.
  response.setHeader('Content-Length', body.length).end(body);
}

const NTLM = 'Authorization: NTLM TlRMTVNTUAAD';

/** Reads until the response to the last request has come, whose connection ends with it. */
async function bodies(server, bytes) {
  return responses(await exchange(server, bytes)).map(({ body }) => body);
}

describe('a connection that a request has authenticated', () => {
  for (const [what, bytes] of [
    ['NTLM', ask('/', [NTLM])],
    ['Negotiate', ask('/', ['Authorization: Negotiate YII='])],
    ['in other letters', ask('/', ['AUTHORIZATION: negotiate YII='])],
    ['for a proxy', ask('/', ['Proxy-Authorization: NTLM TlRM'])],
    ['by a POST', `${ask('/other', [NTLM, 'Content-Length: 2'], 'POST')}hi`],
    ['with a range', ask('/', [NTLM, 'Range: bytes=0-1'])],
    ['by HTTP/1.0', ask('/', [NTLM, 'Connection: keep-alive']).replace('HTTP/1.1', 'HTTP/1.0')],
  ]) {
    test(`neither gets what is stored nor is its own stored: ${what}`, limits, async (t) => {
      const { server } = await serve(t, { duration: 60 }, answer);
      assert.deepEqual(await bodies(server, bytes + ask('/') + ask('/new', last)), [
        'alice',
        'alice',
        'alice',
      ]);
      for (const path of ['/', '/new']) assert.equal((await get(server, path)).body, 'everybody');
      assert.equal((await get(server)).body, 'everybody');
      // Now there is something stored.
      const later = await bodies(server, ask('/') + bytes + ask('/new') + ask('/', last));
      assert.deepEqual(later, ['everybody', 'alice', 'alice', 'alice']);
      assert.ok(server.cache.stats().passes.authenticated > 0);
    });
  }

  test('in pieces, and with responses between the requests', limits, async (t) => {
    const { server } = await serve(t, { duration: 60 }, answer);
    await get(server);
    const socket = net.connect(server.address().port, '127.0.0.1').setEncoding('latin1');
    t.after(() => socket.destroy());
    for (const [bytes, expected] of [
      [ask('/'), 'everybody'],
      [ask('/', [NTLM]), 'alice'],
      [ask('/'), 'alice'],
      [ask('/new'), 'alice'],
    ]) {
      for (const byte of bytes) await new Promise((done) => socket.write(byte, done));
      let received = '';
      while (!received.endsWith(expected)) {
        const [chunk] = await once(socket, 'data');
        received += chunk;
        assert.ok(
          !received.includes('\r\n\r\n') || expected.startsWith(received.split('\r\n\r\n')[1]),
        );
      }
    }
    assert.equal((await get(server, '/new')).body, 'everybody');
  });

  test('over TLS', limits, async (t) => {
    const { authority, server: identity } = makeCertificates();
    const server = createSecureServer({ ...identity, cache: { duration: 60 } }, answer);
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const talk = async (bytes) => {
      const { port } = server.address();
      const socket = tls.connect({ port, servername: 'localhost', ca: authority.cert });
      socket.write(bytes.replaceAll('Host: a', 'Host: localhost'));
      return responses(await text(socket)).map(({ body }) => body);
    };
    assert.deepEqual(await talk(ask('/', [NTLM]) + ask('/', last)), ['alice', 'alice']);
    assert.deepEqual(await talk(ask('/', last)), ['everybody']);
    assert.deepEqual(await talk(ask('/', [NTLM]) + ask('/', last)), ['alice', 'alice']);
  });

  test('other schemes leave a connection as it was', limits, async (t) => {
    const { server, calls } = await serve(t, { duration: 60 }, answer);
    await get(server);
    const later = await bodies(server, ask('/', ['Authorization: Basic YTpi']) + ask('/', last));
    assert.deepEqual(later, ['everybody', 'everybody']);
    assert.equal(calls.length, 2);
  });
});
