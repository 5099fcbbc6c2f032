// What an application sees of a request over HTTP/2, and what leaves of its response.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { describe, test } from 'node:test';
import { ask, askText, connect, send, serve, until } from '../../../fixtures/stack/http2/serve.js';
import { portOf } from '../../../fixtures/stack/listen.js';

const LIMIT = { timeout: 10_000 };
const PROTOCOL_ERROR = 1;

/** A server that answers with what it has seen. */
function mirror(t, options = {}) {
  return serve(t, options, (request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part.toString('latin1');
    });
    request.on('end', () => {
      const { method, url, httpVersion, headers, rawHeaders, trailers } = request;
      const { httpVersionMajor, httpVersionMinor } = request;
      const version = [httpVersion, httpVersionMajor, httpVersionMinor];
      response.end(JSON.stringify({ method, url, version, headers, rawHeaders, trailers, body }));
    });
  });
}

const seenBy = async (session, ...request) => JSON.parse((await ask(session, ...request)).body);

describe('requests', LIMIT, () => {
  for (const secure of [false, true]) {
    test(`fields, version and URL, ${secure ? 'TLS' : 'h2c'}`, async (t) => {
      const server = await mirror(t, { secure });
      const port = portOf(server);
      const seen = await seenBy(connect(t, server), {
        ':path': '/a?b=c',
        cookie: ['a=1', 'b=2'],
        'x-one': ['1', '2'],
      });
      assert.deepEqual(seen.version, ['2.0', 2, 0]);
      assert.equal(seen.url, '/a?b=c');
      assert.deepEqual(seen.headers, {
        host: `localhost:${port}`,
        'x-one': '1, 2',
        cookie: 'a=1; b=2',
      });
      assert.deepEqual(seen.rawHeaders, [
        ...['host', `localhost:${port}`, 'x-one', '1', 'x-one', '2', 'cookie', 'a=1; b=2'],
      ]);
    });
  }

  test('bodies with and without a length, and trailers behind both', async (t) => {
    const session = connect(t, await mirror(t));
    for (const fields of [{}, { 'content-length': '3' }]) {
      const post = { ':method': 'POST', ...fields };
      assert.equal((await seenBy(session, post, 'abc')).body, 'abc');
      const stream = send(session, post, null, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-end': 'yes', 'x-two': '2' }));
      stream.end('abc');
      const { body, trailers, headers } = JSON.parse((await stream.came()).body);
      assert.equal(body, 'abc');
      assert.deepEqual(trailers, { 'x-end': 'yes', 'x-two': '2' });
      assert.equal(headers['content-length'], fields['content-length']);
    }
    const empty = await seenBy(session, { ':method': 'POST' }, '');
    assert.equal(empty.body, '');
  });

  test('whether there is a body is told by a field, as over HTTP/1.1', async (t) => {
    const session = connect(t, await mirror(t));
    const { headers } = await seenBy(session, { ':method': 'POST' }, 'abc');
    assert.equal(headers['transfer-encoding'], 'chunked');
    const long = await seenBy(session, { ':method': 'POST', 'content-length': '3' }, 'abc');
    assert.equal(long.headers['transfer-encoding'], undefined);
    const none = await seenBy(session, { ':method': 'POST' });
    assert.equal(none.headers['transfer-encoding'], undefined);
  });

  test('unusual heads: unknown methods, other bytes in paths, absolute URLs, CONNECT', async (t) => {
    const session = connect(t, await mirror(t));
    assert.equal((await ask(session, { ':method': 'BREW' })).status, 400);
    assert.equal((await seenBy(session, { ':method': 'PROPFIND' })).method, 'PROPFIND');
    assert.equal((await seenBy(session, { ':method': 'M-SEARCH' }, 'x')).method, 'M-SEARCH');
    assert.equal((await seenBy(session, { ':path': '*', ':method': 'OPTIONS' })).url, '*');
    // RFC 9113, section 8.3.1: a path begins with a slash.
    assert.equal((await ask(session, { ':path': 'http://b/c' })).code, PROTOCOL_ERROR);
    assert.equal((await ask(session, { ':path': '/\u00e9' })).status, 400);
    const connected = session.request({ ':method': 'CONNECT', ':authority': 'a:1' });
    const [headers] = await once(connected, 'response');
    assert.equal(headers[':status'], 405);
    connected.close();
    // The session is as before.
    assert.equal((await seenBy(session)).url, '/');
  });

  const knowsQuery = http.METHODS.includes('QUERY');
  test('a request that Node’s parser has read came over HTTP/2, too', {
    skip: !knowsQuery,
  }, async (t) => {
    const server = await mirror(t);
    const { version, body } = await seenBy(connect(t, server), { ':method': 'QUERY' }, 'a');
    assert.deepEqual([version, body], [['2.0', 2, 0], 'a']);
    assert.deepEqual(server.stats().fallbackReasons, { 'unsupported-request': 1 });
  });

  test("'upgrade' is not emitted, and no upgrade is offered", async (t) => {
    const server = await mirror(t);
    server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 101 Mine\r\n\r\nup'));
    assert.equal((await ask(connect(t, server))).status, 200);
    const upgraded = await askText(
      server,
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    );
    assert.equal(upgraded, 'HTTP/1.1 101 Mine\r\n\r\nup');
  });

  test('HTTP/1.1 is spoken on the same port', async (t) => {
    const server = await mirror(t);
    const text = await askText(server, 'GET /one HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n[\s\S]*"version":\["1\.1",1,1\]/);
  });
});

describe('Expect', LIMIT, () => {
  const post = { ':method': 'POST', expect: '100-continue' };

  test('a request that expects it is told to continue', async (t) => {
    const session = connect(t, await mirror(t));
    const stream = send(session, post, null);
    await once(stream, 'continue');
    stream.end('body');
    assert.equal(JSON.parse((await stream.came()).body).body, 'body');
  });

  test("'checkContinue' decides, with and without writeContinue()", async (t) => {
    const server = await mirror(t);
    server.on('checkContinue', (request, response) => {
      if (request.url === '/no') response.writeHead(403).end('no');
      else {
        response.writeContinue();
        server.emit('request', request, response);
      }
    });
    const session = connect(t, server);
    const stream = send(session, post, null);
    await once(stream, 'continue');
    stream.end('body');
    assert.equal(JSON.parse((await stream.came()).body).body, 'body');
    const refused = send(session, { ...post, ':path': '/no' }, null);
    const { status, body, interim } = await refused.came();
    assert.deepEqual([status, body, interim], [403, 'no', []]);
  });

  test('an expectation that is not known is answered 417, or by the application', async (t) => {
    const server = await mirror(t);
    const session = connect(t, server);
    const odd = { expect: 'more' };
    assert.equal((await ask(session, odd)).status, 417);
    server.on('checkExpectation', (_request, response) => response.end('expected'));
    assert.equal((await ask(session, odd)).body, 'expected');
  });
});

describe('responses', LIMIT, () => {
  test('fields that HTTP/2 forbids and the text of the status are not sent', async (t) => {
    const server = await serve(t, {}, (_request, response) => {
      response.writeHead(201, 'Mine', {
        Connection: 'keep-alive, x-hop',
        'Keep-Alive': 'timeout=5',
        'Proxy-Connection': 'keep-alive',
        'Transfer-Encoding': 'chunked',
        Upgrade: 'h2c',
        'X-Kept': 'yes',
        'Set-Cookie': ['a=1', 'b=2'],
      });
      response.end('x');
    });
    const { headers } = await ask(connect(t, server));
    assert.deepEqual(Object.keys(headers).sort(), [':status', 'date', 'set-cookie', 'x-kept']);
    assert.deepEqual(headers['set-cookie'], ['a=1', 'b=2']);
    assert.equal(headers[':status'], 201);
  });

  test('trailers, but behind a body of a given length', async (t) => {
    const server = await serve(t, {}, (request, response) => {
      if (request.url === '/length') response.setHeader('Content-Length', 1);
      response.write('x');
      response.addTrailers({ 'X-End': 'yes' });
      response.end();
    });
    const session = connect(t, server);
    const { body, trailers, code } = await ask(session);
    assert.deepEqual([body, trailers['x-end'], code], ['x', 'yes', 0]);
    // As over HTTP/1.1.
    const short = await ask(session, { ':path': '/length' });
    assert.deepEqual([short.body, short.trailers, short.code], ['x', null, 0]);
  });

  test('100, 102 and 103 come before the response', async (t) => {
    const server = await serve(t, {}, (_request, response) => {
      response.writeContinue();
      response.writeProcessing();
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.end('x');
    });
    const { interim, status, body } = await ask(connect(t, server));
    assert.deepEqual([interim, status, body], [[100, 102, 103], 200, 'x']);
  });

  test('HEAD, 204 and 304 have no body, and end with their heads', async (t) => {
    const server = await serve(t, {}, (request, response) => {
      response.statusCode = Number(request.url.slice(1));
      response.setHeader('ETag', '"a"');
      response.end(response.statusCode === 200 ? 'body' : undefined);
    });
    const session = connect(t, server);
    for (const [method, status] of [
      ['HEAD', 200],
      ['GET', 204],
      ['GET', 304],
    ]) {
      const stream = send(session, { ':method': method, ':path': `/${status}` });
      const [headers, flags] = await once(stream, 'response');
      const { body, code } = await stream.came();
      assert.deepEqual([headers[':status'], headers.etag, body, code], [status, '"a"', '', 0]);
      assert.equal(flags & 1, 1, `${method} ${status}: END_STREAM`);
    }
  });

  test('a response whose socket stays open by its own field ends, too', async (t) => {
    let closed = 0;
    const server = await serve(t, {}, (request, response) => {
      request.socket.on('close', () => closed++);
      response.setHeader('Connection', 'keep-alive');
      response.end('x');
    });
    assert.equal((await ask(connect(t, server))).body, 'x');
    await until(() => closed === 1);
  });

  test('a field that HTTP/1.1 alone could carry resets no other stream', async (t) => {
    const server = await serve(t, {}, (request, response) => {
      if (request.url === '/raw') response.socket.end('no response at all\r\n\r\n');
      else setImmediate(() => response.end('well'));
    });
    const session = connect(t, server);
    const [raw, well] = await Promise.all([ask(session, { ':path': '/raw' }), ask(session)]);
    assert.equal(raw.status, 0);
    assert.notEqual(raw.code, 0);
    assert.equal(well.body, 'well');
  });
});
