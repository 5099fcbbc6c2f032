// Clients that differ in one field: each gets what Node's own server without a cache gives to it. The fields for which that
// is not so are listed with the reason.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { describe, test } from 'node:test';
import { ask, requestBytes, sweep } from '../../../fixtures/stack/cache/field-differences.js';
import { FIELDS, SHARED } from '../../../fixtures/stack/cache/fields.js';
import { limits, serve } from '../../../fixtures/stack/cache/servers.js';

/** Answers with the request's method and the value of the field that the path names. */
function echo(request, response) {
  const name = request.url.split('/').at(-1);
  const text = JSON.stringify([request.method, request.headers[name] ?? null]);
  if (request.url.startsWith('/moved/')) response.writeHead(301, { Location: text }).end();
  else response.end(text);
}

async function serveWithout(t) {
  const server = http.createServer(echo);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

describe('clients that differ in one field', () => {
  for (const [name, [one, two]] of Object.entries(FIELDS)) {
    test(name, limits, async (t) => {
      const servers = { cached: (await serve(t, { duration: 60 }, echo)).server };
      servers.plain = await serveWithout(t);
      const orders = [
        [undefined, one, two, one, undefined],
        [two, one, undefined, two],
      ];
      const differing = [];
      for (const [at, values] of orders.entries()) {
        differing.push(...(await sweep(servers, `/${at}/${name}`, name, values)));
      }
      if (name in SHARED) {
        assert.ok(differing.length > 0, 'it is no longer shared');
      } else {
        assert.deepEqual(differing, []);
      }
    });
  }

  test('redirections vary by the page that the client came from', limits, async (t) => {
    const servers = { cached: (await serve(t, { duration: 60 }, echo)).server };
    servers.plain = await serveWithout(t);
    for (const name of ['referer', 'referrer']) {
      const values = [FIELDS[name][0], undefined, ...FIELDS[name], FIELDS[name][0]];
      assert.deepEqual(await sweep(servers, `/moved/${name}`, name, values), []);
    }
    assert.ok(servers.cached.cache.stats().hits > 0);
  });

  test(
    'a stored response is found again by the same fields, and removed for all',
    limits,
    async (t) => {
      const { server, calls } = await serve(t, { duration: 60 }, echo);
      const asked = ['http', 'https'].map((value) =>
        requestBytes('/x-forwarded-proto', 'x-forwarded-proto', value),
      );
      for (const bytes of [...asked, ...asked]) await ask(server, bytes);
      assert.equal(calls.length, 2);
      const fields = server.cache.entries().map((entry) => entry.fields);
      assert.deepEqual(fields.sort(), [['x-forwarded-proto:http'], ['x-forwarded-proto:https']]);
      await ask(
        server,
        'POST /x-forwarded-proto HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
      );
      assert.equal(server.cache.stats().entries, 0);
    },
  );
});
