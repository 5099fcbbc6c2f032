// The limits that Node does not have, each at its limit, on real sockets.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
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

test(
  'maxPipelinedRequests limits the requests that the application has at once',
  limits,
  async (t) => {
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
  },
);

test('a client that does not read has few bytes waiting for it', limits, async (t) => {
  const REQUESTS = 400;
  const body = Buffer.alloc(64 * 1024);
  let most = 0;
  let handled = 0;
  const server = await serve(t, {}, (request, response) => {
    if (request.url === '/other') {
      response.end();
      return;
    }
    handled++;
    response.end(body);
    most = Math.max(most, request.socket.writableLength);
  });
  const socket = send(server, get('/').repeat(REQUESTS)).pause();
  const other = send(server, get('/other'));
  // Until nothing more is handled for a while, as others see it.
  for (let quiet = 0, before = -1; quiet < 20; ) {
    await once(other, 'data');
    quiet = handled === before ? quiet + 1 : 0;
    before = handled;
    other.write(get('/other'));
  }
  assert.ok(handled < REQUESTS, `${handled} handled`);
  let received = 0;
  for await (const { length } of socket) {
    received += length;
    if (received > REQUESTS * body.length) break;
  }
  assert.equal(handled, REQUESTS);
  // A response may begin where less than 256 KiB wait.
  assert.ok(most < 512 * 1024, `${most} bytes`);
  other.destroy();
});

test('responseTimeout sends 408 in its turn and then ends the connection', limits, async (t) => {
  const server = await serve(t, { responseTimeout: 100 }, (request, response) => {
    if (request.url === '/') response.end();
  });
  const received = await text(send(server, get('/') + get('/never') + get('/')));
  assert.deepEqual(statuses(received), ['200', '408']);
  assert.equal(server.stats().responseTimeouts, 1);
});

test('responseTimeout cuts off a response that has begun', limits, async (t) => {
  const server = await serve(t, { responseTimeout: 100 }, (_request, response) => {
    response.write('part');
  });
  const received = await text(send(server, get('/')));
  assert.deepEqual(statuses(received), ['200']);
  assert.doesNotMatch(received, /\r\n0\r\n\r\n$/);
  assert.equal(server.stats().responseTimeouts, 1);
});

test('a change of responseTimeout applies to the responses in progress too', limits, async (t) => {
  const server = await serve(t, { responseTimeout: 60_000 }, () => {
    server.responseTimeout = 100;
  });
  assert.deepEqual(statuses(await text(send(server, get('/')))), ['408']);
});

test('a responseTimeout that exceeds the maximum of a timer is accepted', limits, async (t) => {
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

test('requests beyond maxRequestsInFlight are answered 503', limits, async (t) => {
  // The second thread, which may take this one to be busy, emits nothing.
  const options = { maxRequestsInFlight: 1, whileBusy: false };
  const server = await serve(t, options, (request, response) => {
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

for (const status of [408, 503, 504]) {
  test(`responseTimeoutStatus may be ${status}`, limits, async (t) => {
    const server = await serve(t, { responseTimeout: 50, responseTimeoutStatus: status }, () => {});
    const received = await text(send(server, get('/')));
    const line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}`;
    assert.equal(received, `${line}\r\nConnection: close\r\n\r\n`);
  });
}

describe('the minimum rates', { concurrency: true }, () => {
  const post = (length) => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;

  test('a body slower than minReceiveRate is answered 408', limits, async (t) => {
    const server = await serve(t, { minReceiveRate: 1000 }, (request) => request.resume());
    const socket = send(server, `${post(9999)}slow`);
    assert.deepEqual(statuses(await text(socket)), ['408']);
    assert.equal(server.stats().tooSlow, 1);
  });

  test(
    'minReceiveRate does not count time in which the application does not read',
    limits,
    async (t) => {
      const rest = Buffer.alloc(100_000);
      const server = await serve(t, { minReceiveRate: 100_000 }, async (request, response) => {
        // For longer than a rate is waited for.
        await sleep(6000);
        request.resume();
        // Longer than it takes until rates are looked at.
        await sleep(1500);
        socket.write(rest);
        await once(request, 'end');
        response.writeHead(204, { Connection: 'close' }).end();
      });
      const socket = send(server, post(300_000));
      socket.write(Buffer.alloc(200_000));
      assert.deepEqual(statuses(await text(socket)), ['204']);
      assert.equal(server.stats().tooSlow, 0);
    },
  );

  test('minSendRate cuts off slow clients and no others', limits, async (t) => {
    const server = await serve(t, { minSendRate: 10_000 }, (_request, response) => {
      response.end(Buffer.alloc(50_000_000));
    });
    // At 100 KB/s, as the system reports a socket to be writable once a third of its buffer is free.
    const slow = send(server, get('/slow')).on('readable', () => {});
    const timer = setInterval(() => slow.read(10_000), 100);
    const stalled = send(server, get('/stalled')).pause();
    const closed = await new Promise((resolve) => {
      server.on('request', ({ url }, response) => response.on('close', () => resolve(url)));
    });
    clearInterval(timer);
    assert.equal(closed, '/stalled');
    assert.equal(server.stats().tooSlow, 1);
    for (const socket of [slow, stalled]) socket.destroy();
  });
});

test('numbers that a limit does not accept are ignored, with a warning for each limit', async (t) => {
  const found = [];
  const listener = ({ message }) => found.push(message);
  process.on('warning', listener);
  t.after(() => process.off('warning', listener));
  const server = createServer();
  const before = { ...limitsOf(server) };
  for (const [name, value] of [
    ['maxPipelinedRequests', 0],
    ['maxPipelinedRequests', 1.5],
    ['responseTimeout', -1],
    ['maxRequestsInFlight', 1.5],
    ['minSendRate', Number.NaN],
    ['responseTimeoutStatus', 500],
  ]) {
    Object.assign(server, { [name]: value });
    assert.deepEqual(limitsOf(createServer({ [name]: value })), before);
  }
  assert.deepEqual(limitsOf(server), before);
  await new Promise(setImmediate);
  assert.deepEqual(
    found.filter((message) => message.startsWith('millrace')),
    [
      'maxPipelinedRequests must be a whole number, 1 or more (got 0)',
      'responseTimeout must be a number of milliseconds, 0 or more (got -1)',
      'maxRequestsInFlight must be a whole number, 0 or more (got 1.5)',
      'minSendRate must be a number of bytes per second, 0 or more (got NaN)',
      'responseTimeoutStatus must be 408, 503 or 504 (got 500)',
    ].map((text) => `millrace: server.${text}; the value is ignored`),
  );
});

function limitsOf(server) {
  const { maxPipelinedRequests, responseTimeout, responseTimeoutStatus } = server;
  const { maxRequestsInFlight, minReceiveRate, minSendRate } = server;
  return {
    ...{ maxPipelinedRequests, responseTimeout, responseTimeoutStatus },
    ...{ maxRequestsInFlight, minReceiveRate, minSendRate },
  };
}
