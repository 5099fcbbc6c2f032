// Connections of HTTP/2 on the stack: what counts and closes them, and their limits of time.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { frames, PREFACE, request } from '../../../fixtures/stack/http2/raw-client.js';
import {
  ask,
  connect,
  connectRaw,
  send,
  serve,
  until,
} from '../../../fixtures/stack/http2/serve.js';

const LIMIT = { timeout: 10_000 };

const count = (server) =>
  new Promise((resolve) => server.getConnections((_error, n) => resolve(n)));
const hello = (_request, response) => response.end('hello');

describe('connections', LIMIT, () => {
  for (const secure of [false, true]) {
    test(`count as connections, not as streams, ${secure ? 'TLS' : 'h2c'}`, async (t) => {
      const events = [];
      const server = await serve(t, { secure }, hello);
      for (const event of ['connection', 'secureConnection'])
        server.on(event, () => events.push(event));
      const session = connect(t, server);
      await Promise.all([ask(session), ask(session), ask(session)]);
      assert.equal(await count(server), 1);
      assert.deepEqual(events, secure ? ['connection', 'secureConnection'] : ['connection']);
      const { connections, http2, fallbackReasons } = server.stats();
      assert.equal(connections.open, 1);
      assert.deepEqual([http2.connections, http2.streams], [1, 3]);
      assert.deepEqual(fallbackReasons, {});
    });
  }

  test('count once, whatever the sockets of their streams are used for', async (t) => {
    const server = await serve(t, {}, ({ socket }, response) => {
      socket.on('close', () => {});
      response.end(`${socket.readyState}`);
    });
    const session = connect(t, server);
    await Promise.all([ask(session), ask(session), ask(session)]);
    assert.equal(await count(server), 1);
    await new Promise((resolve) => server.close(resolve));
    assert.equal(await count(server), 0);
  });

  test('take nothing along of others when they end with responses that wait', async (t) => {
    // Too large to wait for others, and for the client's window.
    const server = await serve(t, {}, (_request, response) => response.end('x'.repeat(10_000)));
    const session = connect(t, server, { settings: { initialWindowSize: 0 } });
    const streams = Array.from({ length: 20 }, () => send(session));
    await Promise.all(streams.map((stream) => once(stream, 'response')));
    await until(() => server.stats().requests.inFlight === 0);
    session.settings({ initialWindowSize: 65_535 });
    await Promise.all(streams.map((stream) => stream.came()));
    // They have the numbers that the streams had.
    const others = Array.from({ length: 20 }, () => connect(t, server));
    await Promise.all(others.map((other) => ask(other)));
    session.destroy();
    await until(() => server.stats().connections.open === others.length);
    const came = await Promise.all(others.map((other) => ask(other)));
    assert.ok(came.every(({ body }) => body.length === 10_000));
  });

  test('maxConnections drops connections, however many streams there are', async (t) => {
    const server = await serve(t, {}, hello);
    server.maxConnections = 1;
    const dropped = once(server, 'drop');
    const session = connect(t, server);
    const came = await Promise.all(Array.from({ length: 5 }, () => ask(session)));
    assert.ok(came.every(({ body }) => body === 'hello'));
    const other = connect(t, server);
    await dropped;
    await once(other, 'close');
    assert.equal((await ask(session)).body, 'hello');
  });

  test('end behind maxRequestsPerSocket requests, with GOAWAY', async (t) => {
    const server = await serve(t, {}, hello);
    server.maxRequestsPerSocket = 3;
    const session = connect(t, server);
    const ended = once(session, 'close');
    const came = await Promise.all(Array.from({ length: 3 }, () => ask(session)));
    assert.deepEqual(
      came.map(({ body }) => body),
      ['hello', 'hello', 'hello'],
    );
    await ended;
    assert.deepEqual(session.goaways, [0]);
  });

  test('that are idle for keepAliveTimeout end with GOAWAY; those with a stream do not', async (t) => {
    const options = { keepAliveTimeout: 100, keepAliveTimeoutBuffer: 0 };
    const server = await serve(t, options, (request, response) => {
      if (request.url === '/wait') server.once('go', () => response.end('waited'));
      else response.end('hello');
    });
    const [idle, busy] = [connect(t, server), connect(t, server)];
    const waiting = send(busy, { ':path': '/wait' });
    await ask(busy);
    const ended = once(idle, 'close');
    assert.equal((await ask(idle)).body, 'hello');
    await ended;
    assert.deepEqual(idle.goaways, [0]);
    assert.equal(busy.closed, false);
    server.emit('go');
    assert.equal((await waiting.came()).body, 'waited');
  });

  test('that are idle end, whatever PING they send', async (t) => {
    const server = await serve(t, { keepAliveTimeout: 200, keepAliveTimeoutBuffer: 0 }, hello);
    const session = connect(t, server);
    const ended = once(session, 'close');
    await ask(session);
    const pinging = setInterval(() => !session.destroyed && session.ping(() => {}), 20);
    t.after(() => clearInterval(pinging));
    await ended;
    assert.deepEqual(session.goaways, [0]);
  });

  test('are idle since their last stream has ended', async (t) => {
    const server = await serve(
      t,
      { keepAliveTimeout: 150, keepAliveTimeoutBuffer: 0 },
      (_request, response) => setTimeout(() => response.end('late'), 300),
    );
    const session = connect(t, server);
    assert.equal((await ask(session)).body, 'late');
    assert.equal((await ask(session)).body, 'late');
    await once(session, 'close');
  });
});

describe('a server that closes', LIMIT, () => {
  for (const secure of [false, true]) {
    test(`sends GOAWAY and lets streams finish, ${secure ? 'TLS' : 'h2c'}`, async (t) => {
      const server = await serve(t, { secure }, (_request, response) => {
        response.write('one ');
        server.once('go', () => response.end('two'));
      });
      const session = connect(t, server);
      const stream = send(session);
      await once(stream, 'response');
      const closed = new Promise((resolve) => server.close(resolve));
      await once(session, 'goaway');
      assert.deepEqual(session.goaways, [0]);
      server.emit('go');
      const { body, code } = await stream.came();
      assert.deepEqual([body, code], ['one two', 0]);
      await closed;
    });
  }

  test('ends idle connections with closeIdleConnections()', async (t) => {
    const server = await serve(t, {}, (request, response) => {
      if (request.url === '/wait') server.once('go', () => response.end('waited'));
      else response.end('hello');
    });
    const [idle, busy] = [connect(t, server), connect(t, server)];
    const waiting = send(busy, { ':path': '/wait' });
    await ask(busy);
    await ask(idle);
    const ended = once(idle, 'close');
    server.closeIdleConnections();
    await ended;
    assert.equal(await count(server), 1);
    server.emit('go');
    assert.equal((await waiting.came()).body, 'waited');
    server.closeIdleConnections();
    await until(() => busy.closed || busy.destroyed);
  });

  test('ends all connections with closeAllConnections()', async (t) => {
    let closed = 0;
    const server = await serve(t, {}, (_request, response) => {
      response.on('close', () => closed++);
      response.write('part');
    });
    const session = connect(t, server);
    const streams = [send(session), send(session)];
    await Promise.all(streams.map((stream) => once(stream, 'data')));
    server.closeAllConnections();
    await Promise.all(streams.map((stream) => stream.came()));
    await until(() => closed === 2);
    await new Promise((resolve) => server.close(resolve));
  });

  test('listens again, and serves as before', async (t) => {
    const server = await serve(t, {}, hello);
    const first = connect(t, server);
    await ask(first);
    await new Promise((resolve) => server.close(resolve));
    await once(server.listen(0, 'localhost'), 'listening');
    assert.equal((await ask(connect(t, server))).body, 'hello');
    assert.equal(server.stats().http2.streams, 2);
  });
});

/** Closes connections as graceful shutdown libraries do: by the response that their sockets have. */
function closeGracefully(server, sockets) {
  server.on('request', (_request, response) => response.setHeader('connection', 'close'));
  for (const socket of sockets) {
    const response = socket._httpMessage;
    if (!response) socket.destroy();
    else if (!response.headersSent) response.setHeader('connection', 'close');
  }
}

describe('a library that closes a server by its sockets', LIMIT, () => {
  for (const secure of [false, true]) {
    test(`finds a response as long as there is a stream, ${secure ? 'TLS' : 'h2c'}`, async (t) => {
      const sockets = new Set();
      const server = await serve(t, { secure }, (request, response) => {
        if (request.url === '/begun') response.write('begun ');
        if (request.url === '/') response.end('hello');
        else server.once('go', () => response.end('well'));
      });
      server.on(secure ? 'secureConnection' : 'connection', (socket) => {
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
      });
      const [idle, begun, busy] = Array.from({ length: 3 }, () => connect(t, server));
      const ended = [idle, begun, busy].map((session) => once(session, 'close'));
      await Promise.all([ask(idle), ask(begun), ask(busy)]);
      const first = send(begun, { ':path': '/begun' });
      await once(first, 'data');
      const both = ['/begun', '/wait'].map((path) => send(busy, { ':path': path }));
      await once(both[0], 'data');
      await until(() => server.stats().requests.inFlight === 3);
      closeGracefully(server, sockets);
      await ended[0];
      // Its response can say nothing any more: the next one does.
      const next = send(begun, { ':path': '/wait' });
      await until(() => server.stats().requests.inFlight === 4);
      server.emit('go');
      const came = await Promise.all([first, next, ...both].map((stream) => stream.came()));
      assert.deepEqual(
        came.map(({ body, code }) => [body, code]),
        ['begun well', 'well', 'begun well', 'well'].map((body) => [body, 0]),
      );
      await Promise.all(ended);
      assert.deepEqual([begun.goaways, busy.goaways], [[0], [0]]);
      await until(() => sockets.size === 0);
    });
  }

  test('without one, the field Connection ends no session', async (t) => {
    const server = await serve(t, {}, (_request, response) => {
      response.setHeader('Connection', 'close').end('hello');
    });
    const session = connect(t, server);
    assert.equal((await ask(session)).body, 'hello');
    assert.equal((await ask(session)).body, 'hello');
    assert.deepEqual(session.goaways, []);
  });
});

describe('limits of time', LIMIT, () => {
  test('a stream whose request does not become complete is answered 408; others go on', async (t) => {
    const options = { requestTimeout: 150, headersTimeout: 150, connectionsCheckingInterval: 20 };
    const server = await serve(t, options, (request, response) => {
      request.resume();
      request.on('error', () => {});
      if (request.url === '/whole') server.once('go', () => response.end('whole'));
    });
    const session = connect(t, server);
    const whole = send(session, { ':path': '/whole' });
    const slow = send(session, { ':method': 'POST' }, null);
    slow.write('some');
    const { status } = await slow.came();
    assert.equal(status, 408);
    server.emit('go');
    assert.equal((await whole.came()).body, 'whole');
  });

  test('headersTimeout is of each frame, not of a connection whose reads end within one', async (t) => {
    const options = { headersTimeout: 200, requestTimeout: 200, connectionsCheckingInterval: 20 };
    const server = await serve(t, options, (_request, response) => {
      server.once('go', () => response.end('well'));
    });
    const client = await connectRaw(server);
    client.write(PREFACE, frames.settings({}), frames.headers(1, request('/'), { ends: true }));
    const ping = frames.ping(Buffer.alloc(8));
    client.write(ping.subarray(0, 5));
    for (let at = 0; at < 30 && !client.isClosed; at++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      client.write(ping.subarray(5), ping.subarray(0, 5));
    }
    server.emit('go');
    const ended = (frame) => frame.stream === 1 && frame.has('END_STREAM');
    assert.equal((await client.frame(ended))?.type, 'DATA');
    // A frame that does not become complete ends it.
    await client.frame(() => false);
  });

  test('a request may have another timeout than the server', async (t) => {
    const server = await serve(t, { keepAliveTimeout: 0 }, (request, response) => {
      request.socket.setTimeout(request.url === '/own' ? 0 : 50);
      if (request.url === '/own') server.once('go', () => response.end('own'));
    });
    server.setTimeout(100);
    const session = connect(t, server);
    const own = send(session, { ':path': '/own' });
    assert.equal((await ask(session)).status, 0);
    // All that the connection has at the server is idle for longer than its timeout.
    await new Promise((resolve) => setTimeout(resolve, 200));
    server.emit('go');
    assert.equal((await own.came()).body, 'own');
    // A connection without streams, and without a keep-alive time, has it again.
    await once(session, 'close');
  });

  test('server.timeout is of each stream', async (t) => {
    const server = await serve(t, {}, (request, response) => {
      if (request.url === '/fast') response.end('fast');
    });
    server.setTimeout(100);
    const session = connect(t, server);
    const slow = send(session);
    assert.equal((await ask(session, { ':path': '/fast' })).body, 'fast');
    const { status, code } = await slow.came();
    assert.equal(status, 0);
    assert.notEqual(code, 0);
    const other = send(connect(t, server), { ':path': '/fast' });
    assert.equal((await other.came()).body, 'fast');
  });
});
