// Applications on Express, Fastify and Koa that trust their proxy: which fields of a request they read, and that clients that
// differ in one of them get from a server with a cache what they get from one without.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer } from 'millrace/http';
import { installed } from '../fixtures/packages.js';
import { sweep } from '../fixtures/stack/cache/field-differences.js';
import { FIELDS, SHARED } from '../fixtures/stack/cache/fields.js';

const PACKAGES = { express: '5.3.0', fastify: '5.12.8', koa: '3.3.0' };
const TYPES = ['html', 'json'];

/** For each package: a handler that answers with all that the framework makes of a request, and at /back redirects. */
const HANDLERS = {
  express(express) {
    const app = express().set('trust proxy', true);
    app.get('/back', (request, response) => response.redirect(301, request.get('Referrer') ?? '/'));
    app.use((request, response) => {
      const { method, url, protocol, secure, host, hostname, subdomains, xhr, ip, ips } = request;
      response.json({
        ...{ method, url, protocol, secure, host, hostname, subdomains, xhr, ip, ips },
        ...{ fresh: request.fresh, range: request.range(10), json: request.is('json') },
        accepted: [request.accepts(TYPES), request.acceptsLanguages(['de', 'en'])],
        coded: [request.acceptsEncodings(['gzip', 'br']), request.acceptsCharsets(['utf-8'])],
      });
    });
    return app;
  },

  async fastify(fastify) {
    let handler;
    const app = fastify({
      trustProxy: true,
      requestIdHeader: 'request-id',
      serverFactory: (handle) => {
        handler = handle;
        return http.createServer();
      },
    });
    app.get('/back', (request, reply) => reply.redirect(request.headers.referer ?? '/', 301));
    const answer = (version) => (request) => {
      const { method, url, protocol, host, hostname, ip, ips } = request;
      return { version, method, url, protocol, host, hostname, port: request.port, ip, ips };
    };
    app.get('/*', answer('none'));
    for (const version of FIELDS['accept-version']) {
      app.get('/*', { constraints: { version } }, answer(version));
    }
    await app.ready();
    return handler;
  },

  koa(Koa) {
    const app = new Koa({ proxy: true });
    app.use((ctx) => {
      if (ctx.path === '/back') {
        ctx.status = 301;
        ctx.back('/');
        return;
      }
      const { method, url, protocol, secure, host, hostname, origin, href, subdomains } = ctx;
      ctx.body = {
        ...{ method, url, protocol, secure, host, hostname, origin, href, subdomains },
        ...{ ip: ctx.ip, ips: ctx.ips, fresh: ctx.fresh, length: ctx.request.length },
        accepted: [ctx.accepts(TYPES), ctx.acceptsLanguages(['de', 'en'])],
        coded: [ctx.acceptsEncodings(['gzip', 'br']), ctx.acceptsCharsets(['utf-8'])],
        json: ctx.is('json'),
      };
    });
    return app.callback();
  },
};

/** The same handler, and the fields that it reads. */
function watched(handler) {
  const read = new Set();
  const watch = (request, response) => {
    const { headers } = request;
    const get = (of, name) => {
      if (typeof name === 'string') read.add(name);
      return Reflect.get(of, name);
    };
    Object.defineProperty(request, 'headers', { value: new Proxy(headers, { get }) });
    handler(request, response);
  };
  return { read, watch };
}

async function listen(t, server) {
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

for (const [name, version] of Object.entries(PACKAGES)) {
  test(name, { timeout: 900_000 }, async (t) => {
    const { folder, reason } = await installed(`cache-fields-${name}`, { [name]: version });
    if (reason !== undefined) return t.skip(reason);
    const loaded = createRequire(join(fs.realpathSync(folder), 'package.json'))(name);
    const handler = await HANDLERS[name](loaded.default ?? loaded);
    const { read, watch } = watched(handler);
    const servers = {
      plain: await listen(t, http.createServer(watch)),
      cached: await listen(t, createServer({ cache: { duration: 60 } }, handler)),
    };
    for (const [field, [one, two]] of Object.entries(FIELDS)) {
      const values = [undefined, one, two, one, undefined];
      const differing = await sweep(servers, `/${field}`, field, values);
      if (!(field in SHARED)) assert.deepEqual(differing, [], field);
      const back = await sweep(servers, '/back', field, values);
      if (!(field in SHARED) || /^referr?er$/.test(field)) assert.deepEqual(back, [], field);
    }
    // Those of bodies, which GET has not.
    const known = [...Object.keys(FIELDS), 'transfer-encoding', 'content-encoding'];
    assert.deepEqual(
      [...read].filter((field) => !known.includes(field)),
      [],
    );
    assert.ok(read.has('x-forwarded-proto') && read.has('x-forwarded-host'), [...read].join());
    assert.ok(servers.cached.cache.stats().hits > 0);
  });
}
