// undici's HTTP/2: several calls on a connection, each a stream that does not show whether it is read.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createSecureServer, createServer } from 'node:http2';
import { describe, test } from 'node:test';
import { service } from '../../fixtures/deadlines/service.js';
import { makeCertificates } from '../../fixtures/tls/certificates.js';

const limits = { timeout: 30_000 };
const total = (ms) => ({ MILLRACE_DEADLINE_TOTAL: `${ms}ms` });
const LONG_MS = 1500;
/** The certificate of the peers is not that of an authority. */
const trusting = { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' };
/** Versions of undici, and ways to use them. */
const isNewest = Number(process.versions.node.split('.')[0]) >= 26;
const WAYS = ['5', '6', '7', 'without TLS', ...(isNewest ? ['of fetch'] : [])];

const { server: certificate } = makeCertificates();

/** A server whose streams are handled by `onStream`; it records its connections. */
async function peer(t, onStream, isSecure = true) {
  const server = isSecure ? createSecureServer(certificate) : createServer();
  const sessions = [];
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    onStream(stream, headers);
  });
  t.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http${isSecure ? 's' : ''}://127.0.0.1:${server.address().port}`, sessions };
}

// The tests wait most of the time.
describe('deadlines of HTTP/2', { concurrency: 8 }, () => {
  for (const version of WAYS) {
    const server = (t, onStream) => peer(t, onStream, version !== 'without TLS');

    test(
      `${version}: calls that are never answered, and bodies that stop, are ended`,
      limits,
      async (t) => {
        const { call } = service(t, { ...total(400), ...trusting });
        const mute = await server(t, () => {});
        const { error } = await call('http2', { url: mute.url, version });
        assert.deepEqual([error?.limit, error?.code], ['total', 'UND_ERR_HEADERS_TIMEOUT']);
        const stopping = await server(t, (stream) => {
          stream.respond({ ':status': 200 });
          stream.write('part');
        });
        const stopped = await call('http2', { url: stopping.url, version });
        assert.deepEqual(
          [stopped.error?.limit, stopped.error?.code],
          ['total', 'UND_ERR_BODY_TIMEOUT'],
        );
      },
    );

    test(`${version}: the next calls of the client are answered`, limits, async (t) => {
      const { call } = service(t, { ...total(400), ...trusting });
      const paths = ['/never', '/stops', '/drips'];
      const both = await server(t, (stream, { ':path': path }) => {
        if (path === '/never') return;
        stream.respond({ ':status': 200 });
        if (path === '/') stream.end('here');
        else stream.write('part');
        if (path !== '/drips') return;
        const timer = setInterval(() => stream.write('x'), 50);
        stream.on('close', () => clearInterval(timer));
      });
      const { value, error } = await call('http2Next', { url: both.url, version, paths });
      assert.deepEqual(value, [4, ...paths.flatMap(() => ['total', 4, 4])], error?.message);
    });

    test(`${version}: all limits apply`, limits, async (t) => {
      const { call } = service(t, {
        ...{ ...trusting, MILLRACE_DEADLINE_TOTAL: 'off' },
        ...{ MILLRACE_DEADLINE_HEADERS: '300ms', MILLRACE_DEADLINE_IDLE: '300ms' },
      });
      const half = await server(t, (stream, { ':method': method }) => {
        if (method === 'POST') return;
        stream.respond({ ':status': 200 });
        stream.write('part');
      });
      const never = await call('http2', { url: half.url, version, upload: 1 });
      assert.equal(never.error?.limit, 'headers');
      const stopped = await call('http2', { url: half.url, version });
      assert.equal(stopped.error?.limit, 'idle');
    });

    test(`${version}: event streams are not limited`, limits, async (t) => {
      const { call } = service(t, { ...total(400), ...trusting });
      const events = await server(t, (stream) => {
        stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
        stream.write('data: 1\n\n');
        setTimeout(() => stream.end('data: 2\n\n'), LONG_MS);
      });
      const { value, error } = await call('http2', { url: events.url, version });
      assert.equal(value, 18, error?.message);
    });

    test(`${version}: an application may read and write at its own pace`, limits, async (t) => {
      const { call } = service(t, { ...total(1000), ...trusting });
      const size = 4_000_000;
      const large = await server(t, (stream) => {
        stream.respond({ ':status': 200 });
        stream.end(Buffer.alloc(size));
      });
      const read = await call('http2', { url: large.url, ms: LONG_MS, version });
      assert.equal(read.value, size, read.error?.message);
      const taking = await server(t, (stream) => {
        stream.resume().on('end', () => {
          stream.respond({ ':status': 200 });
          stream.end('taken');
        });
      });
      for (const kind of ['stream', 'iterable']) {
        const written = await call('http2', { url: taking.url, upload: LONG_MS, kind, version });
        assert.equal(written.value, 5, written.error?.message);
      }
    });
  }

  test('a call that ends leaves the other calls of its connection alone', limits, async (t) => {
    const { call } = service(t, total(400));
    const both = await peer(t, (stream, { ':path': path }) => {
      if (path === '/never') return;
      setTimeout(
        () => {
          stream.respond({ ':status': 200 });
          stream.end('here');
        },
        path === '/late' ? LONG_MS : 0,
      );
    });
    const { value, error } = await call('http2Pair', { url: both.url });
    assert.deepEqual(value, ['total', 'here'], error?.message);
    assert.equal(both.sessions.length, 1);
  });

  test(
    'a connection without any bytes is closed, one that answers other calls is not',
    limits,
    async (t) => {
      const { call } = service(t, total(1000));
      const dead = await peer(t, () => {});
      // One that was opened late has had the end of its handshake meanwhile: then it is left by the next call.
      for (let calls = 0; dead.sessions.length < 2; calls++) {
        assert.ok(calls < 5, 'the connection is not left');
        assert.equal((await call('http2', { url: dead.url })).error?.limit, 'total');
      }
      let asked = 0;
      const slow = await peer(t, (stream) => {
        stream.respond({ ':status': 200 });
        asked += 1;
        if (asked > 1) {
          stream.end('here');
          return;
        }
        const timer = setInterval(() => stream.write('x'), 50);
        stream.on('close', () => clearInterval(timer));
      });
      assert.equal((await call('http2', { url: slow.url })).error?.limit, 'total');
      assert.equal((await call('http2', { url: slow.url })).value, 4);
      assert.equal(slow.sessions.length, 1);
    },
  );
});
