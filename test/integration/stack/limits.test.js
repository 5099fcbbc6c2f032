// The limits that Node does not have, each at its limit, on real sockets.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { createServer } from 'millrace/http';

const limits = { timeout: 20_000 };
const get = (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

/** A server for the time of the test `t`, with these limits. */
async function serve(t, options, listener) {
  const server = createServer(options, listener);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

function send(server, bytes) {
  const socket = net.connect(server.address().port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(bytes);
  return socket;
}

const statuses = (received) => received.match(/(?<=HTTP\/1\.1 )\d+/g);

test('maxPipelinedRequests: no more are with the application at once', limits, async (t) => {
  const waiting = [];
  let most = 0;
  const server = await serve(t, { maxPipelinedRequests: 4 }, (_request, response) => {
    most = Math.max(most, waiting.push(response));
    if (waiting.length === 4 || response.req.url === '/last') {
      setImmediate(() => {
        for (const one of waiting.splice(0)) one.end();
      });
    }
  });
  const socket = send(server, get('/').repeat(19) + get('/last'));
  let received = '';
  for await (const chunk of socket) {
    received += chunk;
    if (statuses(received).length === 20) break;
  }
  assert.equal(most, 4);
});

test('responseTimeout: 408 in its turn, then the connection ends', limits, async (t) => {
  const server = await serve(t, { responseTimeout: 100 }, (request, response) => {
    if (request.url === '/') response.end();
  });
  const received = await text(send(server, get('/') + get('/never') + get('/')));
  assert.deepEqual(statuses(received), ['200', '408']);
  assert.equal(server.stats().responseTimeouts, 1);
});

test('responseTimeout: a response that has begun is cut off', limits, async (t) => {
  const server = await serve(t, { responseTimeout: 100 }, (_request, response) => {
    response.write('part');
  });
  const received = await text(send(server, get('/')));
  assert.deepEqual(statuses(received), ['200']);
  assert.doesNotMatch(received, /\r\n0\r\n\r\n$/);
  assert.equal(server.stats().responseTimeouts, 1);
});

test('responseTimeout: a change is for the responses under way too', limits, async (t) => {
  const server = await serve(t, { responseTimeout: 60_000 }, () => {
    server.responseTimeout = 100;
  });
  assert.deepEqual(statuses(await text(send(server, get('/')))), ['408']);
});

test('responseTimeout: more than a timer can wait', limits, async (t) => {
  const warnings = [];
  const onWarning = (warning) => warnings.push(warning.name);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  const server = await serve(t, { responseTimeout: 2 ** 31 }, (_request, response) => {
    setImmediate(() => response.end());
  });
  const socket = send(server, get('/'));
  await once(socket, 'data');
  socket.destroy();
  assert.deepEqual(warnings, []);
});

test('maxRequestsInFlight: what is beyond is answered 503', limits, async (t) => {
  const server = await serve(t, { maxRequestsInFlight: 1 }, (request, response) => {
    if (request.url === '/end') response.end();
  });
  const dropped = once(server, 'dropRequest');
  const first = send(server, get('/wait'));
  await once(server, 'request');
  const received = await text(send(server, get('/end')));
  assert.match(received, /^HTTP\/1\.1 503 .*\r\nConnection: close\r\n/s);
  assert.equal((await dropped)[0].url, '/end');
  assert.equal(server.stats().overloaded, 1);
  first.destroy();
});

test('minReceiveRate: a body that comes too slowly is answered 408', limits, async (t) => {
  const server = await serve(t, { minReceiveRate: 1000 }, (request) => request.resume());
  const socket = send(server, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\nslow');
  assert.deepEqual(statuses(await text(socket)), ['408']);
  assert.equal(server.stats().tooSlow, 1);
});

test('minSendRate: a client that takes too little is cut off', limits, async (t) => {
  const server = await serve(t, { minSendRate: 1000 }, (_request, response) => {
    response.end(Buffer.alloc(50_000_000));
  });
  const closed = once(server, 'request').then(([, response]) => once(response, 'close'));
  const socket = send(server, get('/'));
  socket.pause();
  await closed;
  assert.equal(server.stats().tooSlow, 1);
  socket.destroy();
});

test('what is no limit is refused', () => {
  const server = createServer();
  for (const [name, value, least] of [
    ['maxPipelinedRequests', 0, 1],
    ['responseTimeout', -1, 0],
    ['maxRequestsInFlight', '5', 0],
    ['minSendRate', Number.NaN, 0],
  ]) {
    const message = `server.${name} = ${value}: accepted is a number, ${least} or more`;
    assert.throws(() => Object.assign(server, { [name]: value }), { message });
    assert.throws(() => createServer({ [name]: value }), { message });
  }
});
