// The stack's limits over HTTP/2: each ends a stream, not its connection.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { isFull } from '../../../fixtures/size.js';
import { frames, PREFACE, request } from '../../../fixtures/stack/http2/raw-client.js';
import {
  ask,
  askText,
  connect,
  connectRaw,
  send,
  serve,
  until,
} from '../../../fixtures/stack/http2/serve.js';

const LIMIT = { timeout: 10_000 };

describe('limits', LIMIT, () => {
  test('responseTimeout answers a stream, or resets it if its response has begun', async (t) => {
    const options = { responseTimeout: 400, responseTimeoutStatus: 503 };
    const server = await serve(t, options, (request, response) => {
      if (request.url === '/begun') response.write('part');
      if (request.url === '/fast') response.end('fast');
    });
    const session = connect(t, server);
    const [late, begun] = [send(session), send(session, { ':path': '/begun' })];
    assert.equal((await late.came()).status, 503);
    const { body, code } = await begun.came();
    assert.equal(body, 'part');
    assert.notEqual(code, 0);
    assert.equal((await ask(session, { ':path': '/fast' })).body, 'fast');
    assert.equal(server.stats().responseTimeouts, 2);
  });

  test('maxRequestsInFlight answers 503', async (t) => {
    const server = await serve(t, { maxRequestsInFlight: 2 }, (_request, response) => {
      server.once('go', () => response.end('well'));
    });
    const session = connect(t, server);
    const two = [send(session), send(session)];
    await until(() => server.listenerCount('go') === 2);
    assert.equal((await ask(session)).status, 503);
    server.emit('go');
    const came = await Promise.all(two.map((stream) => stream.came()));
    assert.deepEqual(
      came.map(({ body }) => body),
      ['well', 'well'],
    );
    assert.equal(server.stats().overloaded, 1);
  });

  test('maxConcurrentStreams is told to clients', async (t) => {
    const server = await serve(t, { maxConcurrentStreams: 3 }, (_request, response) =>
      response.end(),
    );
    const session = connect(t, server);
    const [settings] = await once(session, 'remoteSettings');
    assert.equal(settings.maxConcurrentStreams, 3);
    const other = connect(t, await serve(t, {}, (_request, response) => response.end()));
    const [usual] = await once(other, 'remoteSettings');
    assert.equal(usual.maxConcurrentStreams, 100);
  });

  test('a list of fields that is too large is answered 431', async (t) => {
    const server = await serve(t, { maxHeaderSize: 4000 }, (_request, response) =>
      response.end('well'),
    );
    const session = connect(t, server);
    assert.equal((await ask(session, { 'x-large': 'x'.repeat(5000) })).status, 431);
    assert.equal((await ask(session, { 'x-large': 'x'.repeat(2000) })).body, 'well');
  });

  test('a 431 counts where that of HTTP/1.1 does, however large the list is', async (t) => {
    const server = await serve(t, {}, (_request, response) => response.end());
    const session = connect(t, server, { maxSendHeaderBlockLength: 1_000_000 });
    for (const length of [20_000, 90_000]) {
      assert.equal((await ask(session, { 'x-large': 'x'.repeat(length) })).status, 431);
    }
    const large = `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`;
    assert.match(await askText(server, large), /^HTTP\/1.1 431 /);
    const { unusualRequests, http2 } = server.stats();
    assert.deepEqual([unusualRequests, http2.streams], [{ 'head-size': 3 }, 2]);
  });

  test('streams that are refused are counted', async (t) => {
    const server = await serve(t, { maxConcurrentStreams: 2 }, (_request, response) => {
      server.once('go', () => response.end());
    });
    const client = await connectRaw(server);
    const block = request('/');
    const asked = [1, 3, 5, 7, 9].map((id) => frames.headers(id, block, { ends: true }));
    client.write(PREFACE, frames.settings({}), ...asked);
    for (const id of [5, 7, 9]) {
      const refused = await client.frame(({ stream }) => stream === id);
      assert.deepEqual([refused.type, refused.error], ['RST_STREAM', 'REFUSED_STREAM']);
    }
    const { streams, resets, refused, errors } = server.stats().http2;
    assert.deepEqual(
      { streams, resets, refused, errors },
      { streams: 2, resets: 0, refused: 3, errors: 0 },
    );
    server.emit('go');
    client.socket.destroy();
  });

  // Connections are judged when they are some seconds old.
  const rates = { skip: !isFull && 'takes 6 s' };
  test('minReceiveRate and minSendRate end a stream', rates, async (t) => {
    const options = { minReceiveRate: 100_000, minSendRate: 100_000 };
    const server = await serve(t, options, (request, response) => {
      request.on('error', () => {});
      if (request.method === 'POST') request.resume();
      else if (request.url === '/large') response.end(Buffer.alloc(1_000_000));
      else server.once('go', () => response.end('well'));
    });
    const session = connect(t, server, { settings: { initialWindowSize: 1000 } });
    const well = send(session);
    const upload = send(session, { ':method': 'POST' }, null);
    upload.write('some');
    const download = session.request({ ':path': '/large' });
    download.on('error', () => {});
    download.pause();
    const closed = once(download, 'close');
    assert.equal((await upload.came()).status, 408);
    await closed;
    assert.notEqual(download.rstCode, 0);
    assert.equal(server.stats().tooSlow, 2);
    server.emit('go');
    assert.equal((await well.came()).body, 'well');
  });
});
