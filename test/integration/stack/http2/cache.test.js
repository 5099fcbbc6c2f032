// The output cache answers streams of HTTP/2.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { block } from '../../../fixtures/stack/blocked/blocked-loop.js';
import { ask, connect, send, serve } from '../../../fixtures/stack/http2/serve.js';
import { portOf } from '../../../fixtures/stack/listen.js';

const LIMIT = { timeout: 10_000 };

/** A server with a cache, that counts how often it was called. */
async function cached(t, answer, options = {}) {
  let calls = 0;
  const server = await serve(t, { cache: { duration: 60 }, ...options }, (request, response) => {
    calls++;
    answer(request, response);
  });
  return { server, calls: () => calls };
}

describe('the cache', LIMIT, () => {
  for (const secure of [false, true]) {
    test(`answers without JavaScript: GET, HEAD, 304, Vary, ${secure ? 'TLS' : 'h2c'}`, async (t) => {
      const { server, calls } = await cached(
        t,
        (request, response) => {
          response.setHeader('ETag', '"a"');
          response.setHeader('Vary', 'Accept-Language');
          response.end(request.headers['accept-language'] ?? 'none');
        },
        { secure },
      );
      const session = connect(t, server);
      for (let at = 0; at < 3; at++) assert.equal((await ask(session)).body, 'none');
      assert.equal(calls(), 1);
      assert.equal((await ask(session, { 'accept-language': 'de' })).body, 'de');
      assert.equal((await ask(session, { 'accept-language': 'de' })).body, 'de');
      assert.equal(calls(), 2);
      const head = await ask(session, { ':method': 'HEAD' });
      assert.deepEqual([head.status, head.body, head.headers['content-length']], [200, '', '4']);
      const unchanged = await ask(session, { 'if-none-match': '"a"' });
      assert.deepEqual([unchanged.status, unchanged.body], [304, '']);
      assert.equal(calls(), 2);
      assert.equal(server.stats().requests.cached, 5);
    });
  }

  test('is that of HTTP/1.1, too', async (t) => {
    const { server, calls } = await cached(t, (_request, response) => response.end('x'));
    await ask(connect(t, server), { ':authority': 'a' });
    const port = portOf(server);
    const response = await fetch(`http://localhost:${port}/`, { headers: { host: 'a' } });
    assert.equal(await response.text(), 'x');
    assert.ok(calls() <= 2);
  });

  test('sends large bodies through small windows, many at once', async (t) => {
    const size = 200_000;
    const { server, calls } = await cached(t, (_request, response) =>
      response.end('b'.repeat(size)),
    );
    await ask(connect(t, server));
    const session = connect(t, server, { settings: { initialWindowSize: 5_000 } });
    const came = await Promise.all(Array.from({ length: 10 }, () => ask(session)));
    assert.deepEqual(
      came.map(({ body }) => body.length),
      Array(10).fill(size),
    );
    assert.equal(calls(), 1);
  });

  test('requests for the same wait for one response', async (t) => {
    const { server, calls } = await cached(t, (_request, response) => {
      setImmediate(() => response.end('x'));
    });
    const session = connect(t, server);
    const came = await Promise.all(Array.from({ length: 20 }, () => ask(session)));
    assert.ok(came.every(({ body }) => body === 'x'));
    assert.equal(calls(), 1);
  });

  test('a client that resets a stream that waits does not disturb the others', async (t) => {
    const { server } = await cached(t, (_request, response) => {
      server.once('go', () => response.end('x'));
    });
    const session = connect(t, server);
    const streams = [send(session), send(session), send(session)];
    await new Promise((resolve) => session.ping(resolve));
    streams[1].close(8);
    streams[0].close(8);
    await new Promise((resolve) => session.ping(resolve));
    // The application has the request of another now.
    const going = setInterval(() => server.emit('go'), 1);
    t.after(() => clearInterval(going));
    assert.equal((await streams[2].came()).body, 'x');
  });

  test('a second thread answers while the loop is busy', async (t) => {
    const { server } = await cached(t, (_request, response) => response.end('stored'));
    const session = connect(t, server);
    await ask(session, { ':authority': 'a' });
    const client = `
      const session = require('node:http2').connect('http://localhost:${portOf(server)}');
      process.stdin.once('data', () => setTimeout(() => {
        const stream = session.request({ ':authority': 'a' });
        stream.on('data', (part) => console.log(part + ' ' + Date.now()));
        stream.on('close', () => process.exit());
      }, 100));
      session.on('connect', () => console.log('connected'));`;
    const child = spawn(process.execPath, ['--eval', client], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => child.kill());
    let out = '';
    child.stdout.on('data', (part) => {
      out += part;
    });
    await once(child.stdout, 'data');
    child.stdin.write('go\n');
    // What was written leaves first.
    await new Promise(setImmediate);
    const end = block(1_500);
    await once(child, 'exit');
    const [, body, at] = /^connected\n(\S+) (\d+)\n$/.exec(out) ?? [];
    assert.equal(body, 'stored');
    assert.ok(Number(at) < end, `${Number(at) - end} ms behind the busy time`);
  });
});
