// Limits of the calls of an unmodified service, against peers that misbehave.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dripping, dropping, has, mute, stopping, web } from '../../fixtures/deadlines/peers.js';
import { service } from '../../fixtures/deadlines/service.js';

const limits = { timeout: 30_000 };
const url = ({ port }) => `http://127.0.0.1:${port}/`;
/** Asserts what holds on a machine of any speed: the limit fired, and not too early. */
function fired({ error, ms }, limit, least) {
  assert.equal(error?.limit, limit, JSON.stringify(error));
  assert.ok(ms >= least - 1, `after ${ms} ms`);
  assert.ok(error.elapsedMs >= least - 1);
  assert.match(error.message, new RegExp(`^${error.host}: .* limit of .* reached after .*`));
}

// The tests wait most of the time.
describe('limits of calls', { concurrency: 4 }, () => {
  test('the default total is three seconds', limits, async (t) => {
    const { call } = service(t);
    const result = await call('fetch', { url: url(await mute(t)) });
    fired(result, 'total', 3000);
    assert.equal(result.error.code, 'UND_ERR_HEADERS_TIMEOUT');
  });

  for (const way of ['--import', '--require']) {
    test(`the total limits all libraries, loaded by ${way}`, limits, async (t) => {
      const { call, stats } = service(t, { MILLRACE_DEADLINE_TOTAL: '300ms' }, way);
      const peer = await mute(t);
      const byHttp = await call('http', { port: peer.port });
      fired(byHttp, 'total', 300);
      assert.equal(byHttp.error.code, 'ETIMEDOUT');
      assert.equal(byHttp.error.syscall, 'read');
      const byFetch = await call('fetch', { url: url(peer) });
      fired(byFetch, 'total', 300);
      assert.equal(byFetch.error.outer, 'TypeError');
      assert.equal(byFetch.error.code, 'UND_ERR_HEADERS_TIMEOUT');
      const byUndici = await call('undici', { url: url(peer) });
      fired(byUndici, 'total', 300);
      assert.equal(byUndici.error.name, 'HeadersTimeoutError');
      assert.ok(byUndici.isUndicis, 'instanceof the class of undici');
      const { calls, inFlight, hits, hosts } = await stats();
      assert.deepEqual([calls, inFlight, hits.total], [3, 0, 3]);
      assert.deepEqual(Object.keys(hosts), ['127.0.0.1']);
      assert.ok(hosts['127.0.0.1'].timesMs.max >= 300);
    });
  }

  test('connect ends a call to a peer that drops every packet', {
    ...limits,
    skip: !has('python3'),
  }, async (t) => {
    const { call, stats } = service(t, { MILLRACE_DEADLINE_CONNECT: '300ms' });
    const peer = await dropping(t);
    const byHttp = await call('http', { port: peer.port });
    fired(byHttp, 'connect', 300);
    assert.deepEqual([byHttp.error.code, byHttp.error.syscall], ['ETIMEDOUT', 'connect']);
    const byFetch = await call('fetch', { url: url(peer) });
    fired(byFetch, 'connect', 300);
    assert.equal(byFetch.error.code, 'UND_ERR_CONNECT_TIMEOUT');
    const byUndici = await call('undici', { url: url(peer) });
    fired(byUndici, 'connect', 300);
    assert.ok(byUndici.isUndicis);
    fired(await call('net', { port: peer.port }), 'connect', 300);
    assert.equal((await stats()).hits.connect, 4);
  });

  test('connect ends the lookup of a name that is never found', limits, async (t) => {
    const { call } = service(t, { MILLRACE_DEADLINE_CONNECT: '300ms' });
    const result = await call('unresolved');
    fired(result, 'connect', 300);
    assert.equal(result.error.host, 'never.test');
  });

  test('tls ends a TLS handshake that is never answered', limits, async (t) => {
    const { call } = service(t, { MILLRACE_DEADLINE_TLS: '300ms' });
    const { port } = await mute(t);
    for (const kind of ['https', 'tls', 'startTls']) {
      const { error, ms } = await call(kind, { port });
      fired({ error, ms }, 'tls', 300);
      assert.equal(error.code, 'ETIMEDOUT');
      assert.equal(error.host, kind === 'startTls' ? 'inner.test' : '127.0.0.1');
    }
    const byFetch = await call('fetch', { url: `https://127.0.0.1:${port}/` });
    fired(byFetch, 'tls', 300);
    assert.equal(byFetch.error.code, 'UND_ERR_CONNECT_TIMEOUT');
  });

  test('headers ends a call to a peer that never answers', limits, async (t) => {
    const { call } = service(t, { MILLRACE_DEADLINE_HEADERS: '300ms' });
    const peer = await mute(t);
    fired(await call('http', { port: peer.port }), 'headers', 300);
    fired(await call('fetch', { url: url(peer) }), 'headers', 300);
    fired(await call('undici', { url: url(peer) }), 'headers', 300);
  });

  test(
    'idle ends a body that stops in the middle, and closes its connection at once',
    limits,
    async (t) => {
      const { call } = service(t, { MILLRACE_DEADLINE_IDLE: '300ms' });
      const peer = await stopping(t);
      for (const kind of ['http', 'fetch', 'undici']) {
        const closed = new Promise((resolve) => {
          peer.server.once('connection', (socket) => socket.once('close', resolve));
        });
        const result = await call(kind, { port: peer.port, url: url(peer) });
        fired(result, 'idle', 300);
        const code = kind === 'http' ? 'ETIMEDOUT' : 'UND_ERR_BODY_TIMEOUT';
        assert.equal(result.error.code, code);
        await closed;
      }
    },
  );

  test('total ends a body that arrives byte by byte and is never idle', limits, async (t) => {
    const env = { MILLRACE_DEADLINE_IDLE: '800ms', MILLRACE_DEADLINE_TOTAL: '1s' };
    const { call } = service(t, env);
    const peer = await dripping(t, 20);
    fired(await call('http', { port: peer.port }), 'total', 1000);
    fired(await call('fetch', { url: url(peer) }), 'total', 1000);
  });

  test('MILLRACE_DEADLINE_HOSTS sets limits by host', limits, async (t) => {
    const env = {
      MILLRACE_DEADLINE_TOTAL: '200ms',
      MILLRACE_DEADLINE_HOSTS: 'localhost=headers:600ms,total:5s; *.0.0.2=off',
    };
    const { call } = service(t, env);
    const { port } = await mute(t);
    fired(await call('fetch', { url: `http://127.0.0.1:${port}/` }), 'total', 200);
    fired(await call('fetch', { url: `http://localhost:${port}/` }), 'headers', 600);
  });

  test('MILLRACE_DEADLINE_HOSTS turns the limits of a host off', limits, async (t) => {
    const env = { MILLRACE_DEADLINE_TOTAL: '100ms', MILLRACE_DEADLINE_HOSTS: '127.0.0.1=off' };
    const { call } = service(t, env);
    const peer = await web(t, (_request, response) => setTimeout(() => response.end('late'), 400));
    assert.equal((await call('http', { port: peer.port })).value, 'late');
    assert.equal((await call('fetch', { url: url(peer) })).value, 'late');
  });
});
