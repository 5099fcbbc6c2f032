import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, test } from 'node:test';
import { startTestServer } from 'millrace';

const { NGHTTP2_REFUSED_STREAM, NGHTTP2_ENHANCE_YOUR_CALM } = http2.constants;
const servers = [];
const sessions = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(options) {
  const server = await startTestServer({ processes: 0, http2: true, ...options });
  servers.push(server);
  return server;
}

/** A connection; `goaways` lists the GOAWAYs that came on it, `ended` resolves when it has closed. */
function open(server, options = {}) {
  const ca = server.cert ?? undefined;
  const session = http2.connect(server.url.replace(/^unix.*/, 'http://a'), { ca, ...options });
  const goaways = [];
  session.on('goaway', (code, last) => goaways.push({ code, last }));
  session.on('error', () => {});
  const ended = new Promise((resolve) => session.once('close', resolve));
  sessions.push(session);
  return Object.assign(session, { goaways, ended });
}

/** One request; `error` is the code with which its stream ended. */
function get(session, path = '/', headers = {}, body = undefined) {
  const stream = session.request({ ':path': path, ...headers });
  const answer = { body: '', trailers: {} };
  stream.on('error', () => {});
  stream.on('response', ({ ':status': status, ...fields }) => {
    Object.assign(answer, { status, headers: fields });
  });
  stream.on('trailers', (fields) => Object.assign(answer, { trailers: fields }));
  stream.setEncoding('utf8').on('data', (chunk) => {
    answer.body += chunk;
  });
  stream.end(body);
  return new Promise((resolve) => {
    stream.once('close', () => resolve({ ...answer, id: stream.id, error: stream.rstCode }));
  });
}

describe('the test server on HTTP/2', { timeout: 20_000 }, () => {
  test('it answers with a short text and counts the requests, also on a Unix socket', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'test.sock');
    for (const options of [{}, { path }]) {
      const server = await start(options);
      const session = open(server, options.path && { createConnection: () => connect(path) });
      const { status, headers, body } = await get(session);
      assert.deepEqual([status, headers['content-length'], body], [200, '13', 'hello, world\n']);
      await get(session, '/any/path?and=query');
      assert.equal(await server.requests(), 2);
    }
  });

  test('status, size, chunks, errors and delay are those of HTTP/1.1', async () => {
    const server = await start({ status: 503, size: '2k', chunked: true, errorRate: 0.5 });
    const session = open(server);
    const first = await get(session);
    assert.deepEqual([first.status, first.body.length], [503, 2000]);
    assert.equal(first.headers['content-length'], undefined);
    assert.equal((await get(session)).status, 500);
    const begin = performance.now();
    const asked = await get(session, '/?delay=30&status=404&size=5');
    assert.ok(performance.now() - begin >= 29);
    assert.deepEqual([asked.status, asked.body], [404, 'millr']);
    assert.equal((await get(session, '/?status=204')).body, '');
    assert.equal((await get(session, '/?size=big')).status, 400);
  });

  test('it answers after the content of a request', async () => {
    const server = await start();
    const posted = await get(open(server), '/', { ':method': 'POST' }, Buffer.alloc(100_000));
    assert.equal(posted.status, 200);
  });

  test('it sends a trailer on demand', async () => {
    const session = open(await start());
    const { body, trailers } = await get(session, '/?trailer=grpc-status:%205');
    assert.deepEqual([body, trailers['grpc-status']], ['hello, world\n', '5']);
    const refused = await get(session, '/?trailer=none');
    assert.deepEqual(
      [refused.status, refused.body],
      [...[400, "trailer must be name:value (got 'none')\n"]],
    );
  });

  test('it resets a stream on demand, and the connection stays', async () => {
    const session = open(await start());
    assert.equal((await get(session, '/?reset')).error, http2.constants.NGHTTP2_INTERNAL_ERROR);
    const { error } = await get(session, '/?reset=refused_stream&delay=5');
    assert.equal(error, NGHTTP2_REFUSED_STREAM);
    assert.equal((await get(session)).status, 200);
    const { body } = await get(session, '/?reset=NONE');
    assert.equal(body, "reset must be an error of HTTP/2 such as REFUSED_STREAM (got 'NONE')\n");
    assert.deepEqual(session.goaways, []);
  });

  test('a GOAWAY on demand names its request as the last one, and those after it get nothing', async () => {
    const session = open(await start());
    await once(session, 'remoteSettings');
    const paths = ['/', '/?goaway&delay=20', '/?delay=1h'];
    const [before, last, afterwards] = await Promise.all(paths.map((path) => get(session, path)));
    assert.deepEqual([before.status, last.status, afterwards.status], [200, 200, undefined]);
    assert.deepEqual(session.goaways[0], { code: 0, last: last.id });
    await session.ended;
  });

  test('a GOAWAY can have an error', async () => {
    const session = open(await start());
    await get(session, '/?goaway=ENHANCE_YOUR_CALM');
    await session.ended;
    assert.deepEqual(session.goaways[0], { code: NGHTTP2_ENHANCE_YOUR_CALM, last: 1 });
  });

  test('with close, a connection ends after the requests that have arrived', async () => {
    const session = open(await start({ close: true }));
    await once(session, 'remoteSettings');
    const all = await Promise.all([get(session), get(session)]);
    assert.deepEqual([all[0].status, all[1].status], [200, 200]);
    await session.ended;
    assert.equal(session.goaways[0].code, 0);
  });

  test('it announces how many streams it takes, and without a limit none', async () => {
    for (const [options, announced] of [
      [{ maxStreams: 3 }, 3],
      [{}, 2 ** 32 - 1],
    ]) {
      const [settings] = await once(open(await start(options)), 'remoteSettings');
      assert.equal(settings.maxConcurrentStreams, announced);
    }
  });

  test('over TLS a client chooses the protocol', async () => {
    const server = await start({ tls: true, processes: 2, close: true });
    assert.equal(server.pids.length, 2);
    const session = open(server);
    const { status } = await get(session);
    assert.deepEqual([status, session.alpnProtocol], [200, 'h2']);
    const request = https.get(server.url, { agent: false, ca: server.cert });
    const [response] = await once(request, 'response');
    assert.deepEqual([response.httpVersion, await text(response)], ['1.1', 'hello, world\n']);
    assert.equal(response.headers.connection, 'close');
    assert.equal(await server.requests(), 2);
  });

  test('resets, trailers and the end of a connection are on demand over HTTP/1.1, too', async () => {
    const server = await start({ tls: true });
    const request = (path) =>
      once(https.get(new URL(path, server.url), { agent: false, ca: server.cert }), 'response');
    await assert.rejects(request('/?reset'), { code: 'ECONNRESET' });
    const [ended] = await request('/?goaway&trailer=a:b');
    assert.deepEqual([ended.headers.connection, await text(ended)], ['close', 'hello, world\n']);
    assert.deepEqual(ended.trailers, { a: 'b' });
  });

  test('cleartext is HTTP/2 alone: a client of HTTP/1.1 is turned away, and the server stays', async () => {
    const server = await start();
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    socket.resume();
    await once(socket, 'close');
    assert.equal((await get(open(server))).status, 200);
  });

  test('close() ends connections at once', async () => {
    for (const tls of [false, true]) {
      const server = await start({ tls, delay: '1h' });
      const session = open(server);
      const waiting = get(session);
      await once(session, 'remoteSettings');
      await server.close();
      assert.equal((await waiting).status, undefined);
    }
  });

  test('maxStreams needs http2, and is a number from 1', async () => {
    for (const [options, message] of [
      [{ http2: false, maxStreams: 3 }, 'maxStreams is a limit of HTTP/2: add http2'],
      [{ maxStreams: 0 }, /^maxStreams must be a whole number from 1 .* \(got 0\)$/],
      [{ http2: 1 }, /^http2 must be true or false/],
    ]) {
      await assert.rejects(start(options), { code: 'ERR_MILLRACE_USAGE', message });
    }
  });
});
