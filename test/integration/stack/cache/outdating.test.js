// Unsafe methods on connections whose responses the reactor does not see, or no longer understands: what they make out of date.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, test } from 'node:test';
import {
  ask,
  exchange,
  get,
  last,
  limits,
  responses,
  serve,
} from '../../../fixtures/stack/cache/servers.js';

/** Only Node's own parser takes a target in absolute form: the connection is handed over. */
const fallbackRequest = (path, method = 'POST') =>
  ask(`http://a${path}`, ['Content-Length: 0', ...last], method);

describe('invalidation on a connection that has fallen back', () => {
  /** Pages with the number of their call; other methods are answered by `change`. */
  async function site(t, change) {
    const { server, calls } = await serve(t, { duration: 60 }, (request, response, call) => {
      if (request.method === 'GET') response.end(`${call}`);
      else change(request, response);
    });
    const stored = async (path) => {
      const { body } = await get(server, path);
      return body;
    };
    return { server, calls, stored };
  }

  for (const [what, path, change] of [
    ['its URL', '/a', (_request, response) => response.end()],
    ['a head of its own', '/a', (_request, response) => response.writeHead(204).end()],
    [
      'a response in parts',
      '/a',
      (_request, response) => response.writeHead(200).write('x', () => response.end()),
    ],
    ['Location', '/b', (_request, response) => response.writeHead(303, { Location: '/a' }).end()],
    [
      'the URL as it has arrived',
      '/a',
      (request, response) => {
        request.url = '/b';
        response.end();
      },
    ],
  ]) {
    test(
      `a successful request removes the entries that it invalidates: ${what}`,
      limits,
      async (t) => {
        const { server, stored } = await site(t, change);
        assert.equal(await stored('/a'), '1');
        const [{ status }] = responses(await exchange(server, fallbackRequest(path)));
        assert.ok(status < 400);
        assert.equal(server.stats().connections.fallback, 1);
        assert.equal(await stored('/a'), '3');
        assert.equal(server.cache.stats().invalidations, 1);
      },
    );
  }

  test(
    'an error, a safe method or a request for another host invalidates nothing',
    limits,
    async (t) => {
      const { server, stored } = await site(t, (request, response) => {
        if (request.method === 'DELETE') response.statusCode = 403;
        response.end();
      });
      assert.equal(await stored('/a'), '1');
      await exchange(server, fallbackRequest('/a', 'DELETE'));
      await exchange(server, fallbackRequest('/a', 'OPTIONS'));
      await exchange(
        server,
        fallbackRequest('/a').replaceAll('http://a', 'http://b').replace('Host: a', 'Host: b'),
      );
      assert.equal(server.stats().connections.fallback, 3);
      assert.equal(await stored('/a'), '1');
    },
  );

  test('a response to a request before an invalidation is not stored', limits, async (t) => {
    let respond;
    const { server, calls } = await serve(t, { duration: 60 }, (request, response, call) => {
      if (call === 1) respond = () => response.end('old');
      else response.end(request.method === 'GET' ? 'new' : '');
    });
    const first = get(server, '/a');
    while (calls.length < 1) await new Promise(setImmediate);
    await exchange(server, fallbackRequest('/a'));
    respond();
    assert.equal((await first).body, 'old');
    assert.equal((await get(server, '/a')).body, 'new');
  });
});

test(
  'if a response on the connection is not parsed, entries are removed when the request comes and when it is answered',
  limits,
  async (t) => {
    let state = 'old';
    let respond;
    const { server } = await serve(t, { duration: 60 }, (request, response) => {
      if (request.url === '/more') {
        response.writeHead(200, { 'Content-Length': 2, 'Cache-Control': 'no-store' });
        response.end('ok, and more');
      } else if (request.method === 'POST') {
        respond = () => {
          state = 'new';
          response.end('done');
        };
      } else {
        response.end(state);
      }
    });
    const socket = net.connect(server.address().port, '127.0.0.1');
    t.after(() => socket.destroy());
    socket.write(ask('/more'));
    await once(socket, 'data');
    assert.equal((await get(server)).body, 'old');
    socket.write(ask('/', ['Content-Length: 0'], 'POST'));
    while (!respond) await new Promise(setImmediate);
    // Stored anew before the change is made.
    assert.equal((await get(server)).body, 'old');
    respond();
    await once(socket, 'data');
    assert.equal((await get(server)).body, 'new');
  },
);
