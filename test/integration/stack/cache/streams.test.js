// Responses that go on, and requests for the same: nobody waits for what has no end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { get, limits, serve } from '../../../fixtures/stack/cache/servers.js';

/** Longer than a test may take: who waits for so long has waited for ever. */
const forEver = { duration: 60, maxWait: 60_000 };

/** A response of which the first part is there. */
async function listen(t, server, path = '/') {
  const { port } = server.address();
  const request = http.get({ port, path, agent: false, headers: { Host: 'a' } });
  t.after(() => request.destroy());
  const [response] = await once(request, 'response');
  const [part] = await once(response, 'data');
  response.pause();
  return { request, response, part: String(part) };
}

async function until(condition) {
  while (!condition()) await new Promise(setImmediate);
}

describe('a response that continues', () => {
  for (const [what, type] of [
    ['server-sent events', 'text/event-stream'],
    ['lines of JSON', 'application/x-ndjson'],
  ]) {
    test(`a client that comes during a response gets its own: ${what}`, limits, async (t) => {
      const { server } = await serve(t, forEver, (_request, response, call) => {
        response.setHeader('Content-Type', type);
        response.write(`${call}`);
      });
      for (const call of ['1', '2', '3']) assert.equal((await listen(t, server)).part, call);
    });
  }

  test('requests that wait when a stream begins are sent to the application', limits, async (t) => {
    const { server, calls } = await serve(t, forEver, (_request, response, call) => {
      if (call > 1) response.end('own');
      else server.once('go', () => response.write('1'));
    });
    const first = listen(t, server);
    await until(() => calls.length === 1);
    const others = [get(server), get(server)];
    await until(() => server.cache.stats().waiting === 2);
    server.emit('go');
    assert.equal((await first).part, '1');
    for (const { body } of await Promise.all(others)) assert.equal(body, 'own');
    assert.equal(server.cache.stats().waiting, 0);
  });

  test('a page in several parts is one call for all clients', limits, async (t) => {
    const { server, calls } = await serve(t, forEver, (_request, response) => {
      server.once('go', () => {
        response.write('one ');
        setImmediate(() => response.end('two'));
      });
    });
    const all = Array.from({ length: 50 }, () => get(server));
    await until(() => server.cache.stats().waiting === 49);
    server.emit('go');
    await Promise.all(all);
    assert.deepEqual(calls, ['/']);
  });

  test(
    'a stream that ends is stored, whatever requests were sent on meanwhile',
    limits,
    async (t) => {
      const { server, calls } = await serve(t, forEver, (_request, response, call) => {
        response.write(`part of ${call}`);
        if (call === 1) server.once('go', () => response.end(', end'));
        else response.end();
      });
      const { response, part } = await listen(t, server);
      const other = await listen(t, server);
      assert.equal(other.part, 'part of 2');
      server.emit('go');
      const whole = part + (await text(response));
      assert.equal(whole, 'part of 1, end');
      assert.equal((await get(server)).body, whole);
      assert.equal(calls.length, 2);
    },
  );

  test(
    'no request waits for the next stream after the client of one has left',
    limits,
    async (t) => {
      const { server } = await serve(t, forEver, (_request, response, call) => {
        response.write(`${call}`);
      });
      const first = await listen(t, server);
      await listen(t, server);
      first.request.destroy();
      await until(() => server.cache.stats().notStored.aborted === 1);
      const { waits } = server.cache.stats();
      for (const call of ['3', '4']) assert.equal((await listen(t, server)).part, call);
      assert.equal(server.cache.stats().waits, waits);
    },
  );

  test('HEAD does not wait for a stream', limits, async (t) => {
    const { server } = await serve(t, forEver, (request, response) => {
      if (request.method === 'HEAD') response.end();
      else response.write('1');
    });
    await listen(t, server);
    const { port } = server.address();
    const options = { port, method: 'HEAD', agent: false, headers: { Host: 'a' } };
    const request = http.request(options).end();
    const [{ statusCode }] = await once(request, 'response');
    assert.equal(statusCode, 200);
  });
});

test('a server that is closed answers the requests that wait', limits, async (t) => {
  const { server, calls } = await serve(t, forEver, (_request, response) => {
    server.once('go', () => response.end('x'));
  });
  const all = [get(server), get(server), get(server)];
  await until(() => server.cache.stats().waiting === 2);
  const closed = new Promise((done) => server.close(done));
  server.emit('go');
  for (const { body } of await Promise.all(all)) assert.equal(body, 'x');
  await closed;
  assert.deepEqual(calls, ['/']);
});
