// Requests that wait for the response to another, and what goes on while the event loop is busy.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { ask, get, limits, serve } from '../../../fixtures/stack/cache/servers.js';

describe('one call for concurrent requests', () => {
  test('1000 concurrent misses are one call', { timeout: 60_000 }, async (t) => {
    let respond;
    const { server, calls } = await serve(
      t,
      { duration: 60, maxWait: 60_000 },
      (_request, response) => {
        respond = () => response.end('one');
      },
    );
    const all = Array.from({ length: 1000 }, () => get(server));
    while (server.cache.stats().waiting < 999) await new Promise(setImmediate);
    respond();
    const received = await Promise.all(all);
    assert.ok(received.every(({ body }) => body === 'one'));
    assert.deepEqual(calls, ['/']);
  });

  test('if the first request fails or its client leaves, another one asks', limits, async (t) => {
    const { server, calls } = await serve(
      t,
      { duration: 60, maxWait: 60_000 },
      (_request, response, call) => {
        if (call > 1) response.end('second');
      },
    );
    const first = net.connect(server.address().port, '127.0.0.1', () => first.write(ask()));
    while (calls.length < 1) await new Promise(setImmediate);
    const waiting = [get(server), get(server)];
    while (server.cache.stats().waiting < 2) await new Promise(setImmediate);
    first.destroy();
    assert.deepEqual(
      (await Promise.all(waiting)).map(({ body }) => body),
      ['second', 'second'],
    );
    assert.equal(calls.length, 2);
  });

  test('no request waits again for a response that could not be stored', limits, async (t) => {
    const { server, calls } = await serve(
      t,
      { duration: 60, maxWait: 60_000 },
      (_request, response, call) => {
        response.setHeader('Cache-Control', 'no-store');
        if (call === 1) server.once('go', () => response.end('x'));
        else response.end('x');
      },
    );
    const all = [get(server), get(server), get(server)];
    while (server.cache.stats().waiting < 2) await new Promise(setImmediate);
    server.emit('go');
    await Promise.all(all);
    assert.equal(calls.length, 3);
    assert.equal(server.cache.stats().passes.uncacheable, undefined);
    await get(server);
    assert.equal(server.cache.stats().passes.uncacheable, 1);
  });

  test('a request that has waited for maxWait goes to the application', limits, async (t) => {
    const { server, calls } = await serve(
      t,
      { duration: 60, maxWait: 100 },
      (_request, response, call) => {
        if (call > 1) response.end('own');
      },
    );
    const socket = net.connect(server.address().port, '127.0.0.1', () => socket.write(ask()));
    t.after(() => socket.destroy());
    while (calls.length < 1) await new Promise(setImmediate);
    assert.equal((await get(server)).body, 'own');
    assert.equal(calls.length, 2);
  });

  test(
    'requestTimeout applies to requests that take long to arrive, not to those that wait',
    limits,
    async (t) => {
      // The time in which the one that waits would be late, and is looked at.
      const slow = (_request, response) => setTimeout(() => response.end('x'), 2500);
      const times = { requestTimeout: 1000, headersTimeout: 1000, connectionsCheckingInterval: 50 };
      const { server } = await serve(t, { duration: 60, maxWait: 60_000 }, slow, times);
      const all = await Promise.all([get(server), get(server)]);
      assert.deepEqual(
        all.map(({ status }) => status),
        [200, 200],
      );
      assert.equal(server.cache.stats().waits, 1);
    },
  );

  test(
    'requestTimeout does not apply to a request whose wait has just ended',
    limits,
    async (t) => {
      const slow = (_request, response) => {
        setTimeout(() => response.end('x'), 2900);
        // The response's end and the look at what is late are due in the same turn of the loop.
        setTimeout(() => {
          for (const end = performance.now() + 300; performance.now() < end; );
        }, 2800);
      };
      const times = {
        requestTimeout: 1000,
        headersTimeout: 1000,
        connectionsCheckingInterval: 1000,
      };
      const { server } = await serve(t, { duration: 60, maxWait: 60_000 }, slow, times);
      const all = await Promise.all([get(server), get(server)]);
      assert.deepEqual(
        all.map(({ status }) => status),
        [200, 200],
      );
    },
  );
});

describe('the cache while the loop is busy', () => {
  /** How long it is, and what the slowest request takes: more if it waits for that, and less if not. */
  const BLOCKED_MS = 2000;
  const SOON_MS = 1000;

  /** What a client in another process says in the end, after the loop was blocked for so long. */
  async function whileBlocked(t, server, what, ms) {
    const script = new URL('../../../fixtures/stack/cache/client.js', import.meta.url).pathname;
    const child = spawn(process.execPath, [script, server.address().port, what], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => child.kill());
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    await lines.next();
    const until = performance.now() + ms;
    while (performance.now() < until);
    return JSON.parse((await lines.next()).value);
  }

  const stored = (_request, response) => response.end('stored');

  test('hits are answered while the loop is busy', limits, async (t) => {
    const { server } = await serve(t, { duration: 60 }, stored);
    await get(server);
    const times = await whileBlocked(t, server, 'steady', BLOCKED_MS);
    assert.ok(Math.max(...times) < SOON_MS, `the slowest took ${Math.max(...times)} ms`);
    assert.equal(server.cache.stats().hits, 100);
  });

  test('hits wait for the loop with whileBusy: false', limits, async (t) => {
    const { server } = await serve(t, { duration: 60 }, stored, { whileBusy: false });
    await get(server);
    const times = await whileBlocked(t, server, 'steady', BLOCKED_MS);
    assert.ok(Math.max(...times) > SOON_MS, `the slowest took ${Math.max(...times)} ms`);
  });

  test(
    'requests for the application are handled in order and once when the loop returns',
    limits,
    async (t) => {
      const { server, calls } = await serve(t, { duration: 60 }, async (request, response) => {
        if (request.url.startsWith('/own')) response.setHeader('Cache-Control', 'no-store');
        response.end(request.url + (await text(request)));
      });
      await get(server, '/stored');
      const all = await whileBlocked(t, server, 'mixed', 300);
      for (const [at, bodies] of all.entries()) {
        const expected = ['/stored', `/own${at}`, '/stored', `/own-post${at}body`, '/stored'];
        assert.deepEqual(bodies, expected);
      }
      assert.equal(calls.length, 41);
    },
  );
});
