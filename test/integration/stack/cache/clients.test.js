// Clients that differ in one field: each gets what it would get without the cache, or the field is listed with a reason.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { ask, get, limits, responses, serve } from '../../../fixtures/stack/caching.js';

/** What Express, Fastify and Koa read of a request by themselves, what proxies and gateways tell them, and values of it. */
const DISTINGUISHED = {
  // The URI, as frameworks that trust a proxy build it.
  'X-Forwarded-Proto': ['http', 'https', 'https, http'],
  'X-Forwarded-Host': ['a.example', 'b.example', 'b.example:8443'],
  'X-Forwarded-Port': ['80', '8443'],
  'X-Forwarded-Prefix': ['/a', '/b'],
  'X-Forwarded-Ssl': ['on', 'off'],
  'X-Forwarded-Scheme': ['http', 'https'],
  'X-Forwarded-Uri': ['/a', '/b'],
  'Front-End-Https': ['on'],
  'X-Url-Scheme': ['https'],
  'X-Original-Host': ['b.example'],
  'X-Original-URL': ['/a', '/b'],
  'X-Rewrite-URL': ['/a', '/b'],
  'CF-Visitor': ['{"scheme":"https"}'],
  Forwarded: ['proto=http', 'proto=https;host=b.example', 'for="x;y,z";proto=https'],
  // Express: req.xhr. Fastify: the version of a route.
  'X-Requested-With': ['XMLHttpRequest'],
  'Accept-Version': ['1.x', '2.x'],
  'X-HTTP-Method-Override': ['DELETE'],
  'X-Method-Override': ['PUT'],
  // Who the client is.
  Authorization: ['Basic YTph', 'Bearer x', 'NTLM TlRM'],
  'Proxy-Authorization': ['Basic YTph'],
  Cookie: ['sid=1', 'sid=2'],
  'X-Api-Key': ['1', '2'],
  'Api-Key': ['1'],
  'X-Auth-Token': ['1', '2'],
  'X-Access-Token': ['1'],
  'X-Session-Id': ['1', '2'],
  'X-Forwarded-User': ['alice', 'bob'],
  'X-Auth-Request-Email': ['alice@a.example'],
  'X-Amzn-Oidc-Identity': ['alice'],
  'X-Forwarded-Client-Cert': ['Hash=1', 'Hash=2'],
  'X-SSL-Client-S-DN': ['CN=alice'],
  // What a response depends on by its meaning.
  Range: ['bytes=0-1'],
  'If-Match': ['"1"'],
};

/** Fields in which clients differ without another response, unless the application names them in Vary. */
const SHARED = {
  'X-Forwarded-For': 'an address: each client would have a cache of its own',
  'X-Real-IP': 'an address',
  Accept: 'negotiated: Vary names it (RFC 9110, section 12.5.5)',
  'Accept-Encoding': 'negotiated',
  'Accept-Language': 'negotiated',
  'User-Agent': 'Vary names it',
  Referer: 'Vary names it',
  Origin: 'Vary names it, as the package cors does',
  'Cache-Control': 'the cache is part of the server (obeyRequests)',
  'If-None-Match': 'the cache itself answers it',
  'If-Modified-Since': 'the cache itself answers it',
  'X-Request-Id': 'of one request',
};

/** An application that answers with what it was told, as pages with links, redirects and names of users do. */
function echo(field) {
  return (request, response) => response.end(`${request.headers[field.toLowerCase()]}`);
}

for (const [field, values] of Object.entries(DISTINGUISHED)) {
  test(`clients that differ in ${field} get responses of their own`, limits, async (t) => {
    const { server } = await serve(t, { duration: 60 }, echo(field));
    // Each twice, so that the second may be answered from the cache; the ones without the field between them.
    for (const value of [undefined, ...values, undefined, ...values.toReversed(), undefined]) {
      const { body } = await get(server, '/', value === undefined ? [] : [`${field}: ${value}`]);
      assert.equal(body, String(value));
    }
  });
}

for (const [field, reason] of Object.entries(SHARED)) {
  test(`clients that differ in ${field} share a response: ${reason}`, limits, async (t) => {
    const { server, calls } = await serve(t, { duration: 60 }, echo('x'));
    for (const value of ['1', '2', '1']) await get(server, '/', [`${field}: ${value}`]);
    assert.equal(calls.length, 1);
  });
  test(`clients that differ in ${field} do not where Vary names it`, limits, async (t) => {
    if (field === 'Cache-Control' || field.startsWith('If-')) return;
    const { server } = await serve(t, { duration: 60 }, (request, response) => {
      response.setHeader('Vary', field).end(String(request.headers[field.toLowerCase()]));
    });
    for (const value of ['1', '2', '1', '2']) {
      assert.equal((await get(server, '/', [`${field}: ${value}`])).body, value);
    }
  });
}

test(
  'entries() names the fields of the URI, and a change removes the entries of all',
  limits,
  async (t) => {
    const { server } = await serve(t, { duration: 60 });
    await get(server, '/page');
    await get(server, '/page', ['X-Forwarded-Proto: https', 'X-Forwarded-For: 192.0.2.1']);
    const fields = server.cache.entries().map(({ keyFields }) => keyFields);
    assert.deepEqual(fields.toSorted(), ['', 'x-forwarded-proto: https']);
    const post = `POST /page HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
    const socket = net.connect(server.address().port, '127.0.0.1').end(post);
    await text(socket);
    assert.deepEqual(server.cache.entries(), []);
  },
);

describe('a connection that was authenticated', () => {
  /** Users are known by their connection, as with express-ntlm. */
  const listener = ({ headers, socket }, response) => {
    if (/^(ntlm|negotiate) /i.test(headers.authorization ?? '')) socket.user = 'alice';
    response.end(socket.user ?? 'nobody');
  };

  /** Sends requests one after the other on one connection. */
  async function converse(server, requests) {
    const socket = net.connect(server.address().port, '127.0.0.1').setEncoding('latin1');
    const bodies = [];
    for (const request of requests) {
      socket.write(request);
      const [chunk] = await once(socket, 'data');
      bodies.push(responses(chunk)[0].body);
    }
    socket.destroy();
    return bodies;
  }

  for (const [name, first] of [
    ['by a GET', ask('/', ['Authorization: NTLM TlRM'])],
    ['by a POST', ask('/', ['Authorization: Negotiate YII', 'Content-Length: 0'], 'POST')],
    ['by a request for a part', ask('/', ['authorization: ntlm x', 'Range: bytes=0-1'])],
    ['by a HEAD', ask('/', ['Authorization: NTLM TlRM'], 'HEAD')],
  ]) {
    test(`${name} bypasses the cache from then on`, limits, async (t) => {
      const { server } = await serve(t, { duration: 60 }, listener);
      const [, ...later] = await converse(server, [first, ask('/'), ask('/other'), ask('/')]);
      assert.deepEqual(later, ['alice', 'alice', 'alice']);
      assert.deepEqual(await converse(server, [ask('/'), ask('/other')]), ['nobody', 'nobody']);
      // What is stored meanwhile is not for it.
      const [, own] = await converse(server, [first, ask('/')]);
      assert.equal(own, 'alice');
      assert.ok(server.cache.stats().passes.authenticated >= 3);
    });
  }
});
