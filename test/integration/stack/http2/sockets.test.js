// The socket that each request over HTTP/2 has, and how requests and responses end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { finished, pipeline } from 'node:stream';
import { describe, test } from 'node:test';
import tls from 'node:tls';
import { ask, askText, connect, send, serve, until } from '../../../fixtures/stack/http2/serve.js';
import { portOf } from '../../../fixtures/stack/listen.js';
import { makeCertificates } from '../../../fixtures/tls/certificates.js';

const LIMIT = { timeout: 10_000 };
const CANCEL = 8;
const MAJOR = Number(process.versions.node.split('.')[0]);

/** Events of a request, its response and its socket, in order. */
function record(request, response) {
  const lines = [];
  const watch = (name, emitter, events) => {
    for (const event of events)
      emitter.on(event, (error) =>
        lines.push(`${name} ${event}${error?.code ? ` ${error.code}` : ''}`),
      );
  };
  watch('request', request, ['aborted', 'error', 'end', 'close']);
  watch('response', response, ['error', 'finish', 'close']);
  return lines;
}

describe('a socket', LIMIT, () => {
  test("has the addresses of its connection, and is no other request's", async (t) => {
    const sockets = [];
    const server = await serve(t, {}, ({ socket }, response) => {
      sockets.push(socket);
      const { remoteAddress, remotePort, localPort, encrypted } = socket;
      response.end(JSON.stringify({ remoteAddress, remotePort, localPort, encrypted }));
    });
    const session = connect(t, server);
    const [one, two] = await Promise.all([ask(session), ask(session)]);
    assert.equal(one.body, two.body);
    const { localAddress, localPort } = session.socket;
    assert.deepEqual(JSON.parse(one.body), {
      remoteAddress: localAddress,
      remotePort: localPort,
      localPort: portOf(server),
    });
    assert.notEqual(sockets[0], sockets[1]);
  });

  test('has the facts of TLS', async (t) => {
    const { authority, server: identity, client } = makeCertificates();
    const options = { secure: true, ...identity, requestCert: true, ca: authority.cert };
    const server = await serve(t, options, ({ socket }, response) => {
      const { encrypted, authorized, alpnProtocol, servername } = socket;
      const facts = { encrypted, authorized, alpnProtocol, servername };
      const peer = socket.getPeerCertificate().subject?.CN ?? null;
      const cipher = socket.getCipher().version;
      const protocol = socket.getProtocol();
      const isTls = socket instanceof tls.TLSSocket;
      response.end(JSON.stringify({ ...facts, peer, cipher, protocol, isTls }));
    });
    const { body } = await ask(connect(t, server, client));
    const { peer, cipher, ...rest } = JSON.parse(body);
    assert.deepEqual(rest, {
      ...{ encrypted: true, authorized: true, alpnProtocol: 'h2', servername: 'localhost' },
      ...{ protocol: 'TLSv1.3', isTls: true },
    });
    assert.ok(cipher.startsWith('TLSv1'));
  });

  test("that is idle for its timeout emits 'timeout', and others do not", async (t) => {
    const times = [];
    const server = await serve(t, {}, (request, response) => {
      if (request.url === '/other') return;
      response.setTimeout(50, () => {
        times.push('timeout');
        response.end('late');
      });
    });
    const session = connect(t, server);
    const other = send(session, { ':path': '/other' });
    assert.equal((await ask(session)).body, 'late');
    assert.equal(other.closed, false);
    assert.deepEqual(times, ['timeout']);
  });

  test("of a connection counts what its streams have written, also at 'close'", async (t) => {
    const counts = [];
    const server = await serve(t, {}, (request, response) => {
      if (request.url === '/open') response.write('x'.repeat(1000));
      else response.end('x'.repeat(1000));
    });
    let socket;
    server.on('connection', (one) => {
      socket = one;
      one.on('close', () => counts.push(one.bytesWritten));
    });
    const session = connect(t, server);
    assert.equal((await ask(session)).body.length, 1000);
    counts.push(socket.bytesWritten);
    await once(send(session, { ':path': '/open' }), 'data');
    counts.push(socket.bytesWritten);
    session.destroy();
    await until(() => counts.length === 3);
    const [first, second, atClose] = counts;
    assert.ok(first >= 1000 && first < 2000, `${first}`);
    assert.ok(second >= first + 1000 && second < 4000, `${second}`);
    assert.equal(atClose, second);
  });

  for (const [how, listen] of Object.entries({
    on: (socket, listener) => socket.on('data', listener),
    once: (socket, listener) => socket.once('data', listener),
    later: (socket, listener) => setImmediate(() => socket.on('data', listener)),
  })) {
    test(`of a connection with a listener for its bytes: ${how}`, async (t) => {
      let seen = '';
      const server = await serve(t, {}, (request, response) => response.end(request.httpVersion));
      server.on('connection', (socket) => {
        listen(socket, (bytes) => {
          seen += bytes;
        });
      });
      const session = connect(t, server);
      assert.equal((await ask(session)).body, '2.0');
      assert.equal((await ask(session)).body, '2.0');
      // What the session reads is nobody else's.
      assert.deepEqual([seen, server.stats().fallbackReasons], ['', {}]);
      const text = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
      assert.match(await askText(server, text), /1\.1$/);
      assert.equal(seen, text);
    });
  }

  test('over TLS, a listener for its bytes leaves a session as it is', async (t) => {
    const seen = [];
    const server = await serve(t, { secure: true }, (request, response) => {
      response.end(request.httpVersion);
    });
    server.on('secureConnection', (socket) => socket.on('data', (bytes) => seen.push(bytes)));
    assert.equal((await ask(connect(t, server))).body, '2.0');
    assert.deepEqual([seen, server.stats().fallbackReasons], [[], {}]);
  });

  for (const [how, act] of Object.entries({
    'socket.destroy()': (request) => request.socket.destroy(),
    'socket.resetAndDestroy()': (request) => request.socket.resetAndDestroy(),
    'response.destroy()': (_request, response) => response.destroy(),
    'request.destroy()': (request) => request.destroy(),
  })) {
    test(`${how} resets this stream alone`, async (t) => {
      let lines;
      const server = await serve(t, {}, (request, response) => {
        if (request.url === '/other') return void server.once('go', () => response.end('well'));
        lines = record(request, response);
        request.socket.on('close', () => lines.push('socket close'));
        act(request, response);
      });
      const session = connect(t, server);
      const other = send(session, { ':path': '/other' });
      const { code, status } = await ask(session);
      assert.deepEqual([status, code], [0, CANCEL]);
      await until(() => lines.includes('socket close') && lines.includes('response close'));
      server.emit('go');
      assert.equal((await other.came()).body, 'well');
    });
  }
});

describe('a client that resets a stream', LIMIT, () => {
  test("is told of as over HTTP/1.1: 'aborted', 'error', 'close'", async (t) => {
    let lines;
    let request;
    let response;
    const server = await serve(t, {}, (one, two) => {
      [request, response] = [one, two];
      lines = record(request, response);
      request.resume();
      response.write('part');
    });
    const stream = send(connect(t, server), { ':method': 'POST' }, null);
    stream.write('some');
    await once(stream, 'data');
    stream.close(CANCEL);
    await until(() => lines.includes('response close') && lines.includes('request close'));
    assert.deepEqual(lines, [
      ...['request aborted', 'response close', 'request error ECONNRESET', 'request close'],
    ]);
    assert.equal(request.destroyed, true);
    assert.equal(response.writableFinished, false);
  });

  test('ends what is piped to it', async (t) => {
    const ends = [];
    const server = await serve(t, {}, (request, response) => {
      pipeline(request, response, (error) => ends.push(error?.code));
      finished(response, (error) => ends.push(error?.code));
    });
    const stream = send(connect(t, server), { ':method': 'POST' }, null);
    stream.write('some');
    await once(stream, 'data');
    stream.close(CANCEL);
    await until(() => ends.length === 2);
    // As over HTTP/1.1.
    const OLD = ['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_PREMATURE_CLOSE'];
    const expected = MAJOR < 24 ? OLD : ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'];
    assert.deepEqual(ends.sort(), expected);
  });

  test('is told of when its connection ends, for each stream', async (t) => {
    let closed = 0;
    let begun = 0;
    const server = await serve(t, {}, (_request, response) => {
      begun++;
      response.on('close', () => closed++);
    });
    const session = connect(t, server);
    for (let at = 0; at < 5; at++) send(session);
    await until(() => begun === 5);
    session.destroy();
    await until(() => closed === 5);
  });
});

describe('bodies', LIMIT, () => {
  const MIB = 1024 * 1024;

  test('write() waits for the window, and drain comes as it opens', async (t) => {
    const told = [];
    const server = await serve(t, {}, (request, response) => {
      if (request.url === '/other') return void response.end('other');
      told.push(response.write(Buffer.alloc(MIB, 'a')), response.writableNeedDrain);
      response.on('drain', () => {
        told.push('drain');
        response.end('end');
      });
    });
    const session = connect(t, server, { settings: { initialWindowSize: 1000 } });
    const stream = session.request({ ':path': '/' });
    stream.pause();
    await once(stream, 'response');
    assert.equal((await ask(session, { ':path': '/other' })).body, 'other');
    assert.ok(!told.slice(0, 2).includes('drain'));
    let length = 0;
    stream.on('data', (part) => {
      length += part.length;
    });
    stream.resume();
    await once(stream, 'end');
    assert.equal(length, MIB + 3);
    assert.deepEqual(told.slice(0, 2), [false, true]);
    assert.ok(told.includes('drain'));
  });

  test('an upload that is not read closes its window, and goes on with resume()', async (t) => {
    let request;
    const server = await serve(t, {}, (one, response) => {
      request = one;
      let length = 0;
      one.pause();
      one.on('data', (part) => {
        length += part.length;
      });
      one.on('end', () => response.end(String(length)));
      one.pause();
    });
    const session = connect(t, server);
    const stream = send(session, { ':method': 'POST' }, null);
    stream.end(Buffer.alloc(4 * MIB));
    await until(() => request !== undefined);
    // Other streams have their way meanwhile; this one does not become complete.
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => session.ping(resolve));
    assert.ok(stream.state.localWindowSize !== undefined && request.readableLength <= MIB);
    assert.ok(stream.writableLength > 0, 'all has left');
    request.resume();
    assert.equal((await stream.came()).body, String(4 * MIB));
  });

  for (const secure of [false, true]) {
    test(`pipe() sends back what comes, ${secure ? 'TLS' : 'h2c'}`, async (t) => {
      const server = await serve(t, { secure }, (request, response) => request.pipe(response));
      const session = connect(t, server);
      const bodies = ['', 'a', 'b'.repeat(100_000), 'c'.repeat(3 * MIB)];
      const came = await Promise.all(
        bodies.map((body) => ask(session, { ':method': 'POST' }, body)),
      );
      assert.deepEqual(
        came.map(({ body }) => body.length),
        bodies.map((body) => body.length),
      );
    });
  }

  test('a response before the end of an upload is complete; the rest is not wanted', async (t) => {
    const server = await serve(t, {}, (_request, response) =>
      response.writeHead(413).end('too large'),
    );
    const session = connect(t, server);
    const stream = send(session, { ':method': 'POST' }, null);
    stream.write(Buffer.alloc(100_000));
    const { status, body, code } = await stream.came();
    assert.deepEqual([status, body, code], [413, 'too large', 0]);
    assert.equal((await ask(session)).status, 413);
  });
});
