// The output cache of the stack on real sockets: what it stores, whom it answers, in which order, and what it never does.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import https from 'node:https';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import tls from 'node:tls';
import { createServer as createSecureServer } from 'millrace/https';
import {
  ask,
  exchange,
  get,
  last,
  limits,
  responses,
  serve,
} from '../../../fixtures/stack/cache/servers.js';
import { makeCertificates } from '../../../fixtures/tls/certificates.js';

describe('responses that are stored', () => {
  test(
    'with a duration for all responses the second request does not reach the application',
    limits,
    async (t) => {
      const { server, calls } = await serve(t, { duration: 60 });
      const first = await get(server);
      const second = await get(server);
      assert.deepEqual(calls, ['/']);
      assert.equal(second.body, first.body);
      assert.match(second.head, /^HTTP\/1\.1 200 OK\r\n/);
      assert.match(second.head, /\r\nAge: 0\r\n/);
      assert.doesNotMatch(first.head, /\r\nAge:/);
      assert.match(second.head, /\r\nConnection: close\r\n/);
      const { hits, misses, stores, entries, bytes } = server.cache.stats();
      assert.deepEqual(
        { hits, misses, stores, entries },
        { hits: 1, misses: 1, stores: 1, entries: 1 },
      );
      assert.ok(bytes > 0);
      assert.equal(server.stats().requests.cached, 1);
      assert.equal(server.stats().requests.native, 1);
    },
  );

  test(
    'with a duration of 0 only responses with their own lifetime are stored',
    limits,
    async (t) => {
      const { server, calls } = await serve(t, true, (request, response) => {
        if (request.url === '/field') response.setHeader('Cache-Control', 'max-age=60');
        if (request.url === '/code') response.cacheDuration = 60;
        if (request.url === '/none') response.cacheDuration = 0;
        response.end('x');
      });
      for (const path of ['/', '/field', '/code', '/none']) {
        await get(server, path);
        await get(server, path);
      }
      assert.deepEqual(calls, ['/', '/', '/field', '/code', '/none', '/none']);
    },
  );

  test('nothing is stored if the cache is off', limits, async (t) => {
    const { server, calls } = await serve(t, false, (_request, response) => {
      response.cacheDuration = 60;
      response.setHeader('Cache-Control', 'max-age=60');
      response.end();
    });
    await get(server);
    await get(server);
    assert.deepEqual(calls, ['/', '/']);
    assert.equal(server.cache.stats().entries, 0);
  });

  test(
    'a response is stored however it was written: in chunks, by pipes, with a late end, in pieces of any size',
    limits,
    async (t) => {
      const large = 'y'.repeat(100_000);
      const { server, calls } = await serve(t, { duration: 60 }, (request, response) => {
        switch (request.url) {
          case '/chunks':
            response.write('one ');
            setImmediate(() => {
              response.write('two ');
              response.end('three');
            });
            break;
          case '/large':
            response.end(large);
            break;
          case '/early':
            response.writeEarlyHints({ link: '</a.css>; rel=preload' }, () =>
              response.end('after'),
            );
            break;
          default:
            response.writeHead(200, { 'Content-Length': 6 });
            response.flushHeaders();
            setImmediate(() => response.write('abc', () => response.end('def')));
        }
      });
      for (const [path, body] of [
        ['/chunks', 'one two three'],
        ['/large', large],
        ['/early', 'after'],
        ['/late', 'abcdef'],
      ]) {
        await exchange(server, ask(path, last));
        const { head, body: received } = await get(server, path);
        assert.equal(received, body, path);
        assert.match(head, new RegExp(`\r\nContent-Length: ${body.length}\r\n`));
        assert.doesNotMatch(head, /transfer-encoding/i);
      }
      assert.equal(calls.length, 4);
    },
  );

  for (const [what, answer] of [
    ['Set-Cookie', (response) => response.setHeader('Set-Cookie', 'a=b')],
    ['no-store', (response) => response.setHeader('Cache-Control', 'no-store')],
    ['private', (response) => response.setHeader('Cache-Control', 'private, max-age=60')],
    ['no-cache', (response) => response.setHeader('Cache-Control', 'no-cache')],
    ['Vary: *', (response) => response.setHeader('Vary', '*')],
    ['an error', (response) => response.writeHead(500)],
    ['a part', (response) => response.writeHead(206, { 'Content-Range': 'bytes 0-0/2' })],
    [
      'trailers',
      (response) => {
        response.write('a');
        response.addTrailers({ 'X-Sum': '1' });
      },
    ],
  ]) {
    test(`a response is never stored: ${what}`, limits, async (t) => {
      const { server, calls } = await serve(t, { duration: 60 }, (_request, response) => {
        answer(response);
        response.end('x');
      });
      await exchange(server, ask('/', last));
      await exchange(server, ask('/', last));
      assert.deepEqual(calls, ['/', '/']);
      assert.equal(server.cache.stats().entries, 0);
    });
  }

  test(
    'a response that ended early, or whose client went away, is never stored',
    limits,
    async (t) => {
      const { server, calls } = await serve(t, { duration: 60 }, (request, response, call) => {
        if (call > 2) {
          response.end('whole');
          return;
        }
        response.writeHead(200, { 'Content-Length': 100 });
        response.write('part');
        if (call === 1) setImmediate(() => response.destroy());
        else request.socket.once('close', () => response.end('x'.repeat(96)));
      });
      await exchange(server, ask('/'));
      const socket = net.connect(server.address().port, '127.0.0.1', () => socket.write(ask('/')));
      await once(socket, 'data');
      socket.resetAndDestroy();
      await once(socket, 'close');
      assert.equal((await get(server)).body, 'whole');
      assert.equal((await get(server)).body, 'whole');
      assert.equal(calls.length, 3);
    },
  );
});

describe('requests that the cache answers', () => {
  test('HEAD and conditional requests are answered from the stored GET', limits, async (t) => {
    const { server, calls } = await serve(t, { duration: 60 }, (_request, response) => {
      response.setHeader('ETag', '"1"');
      response.end('body');
    });
    await get(server);
    const head = await exchange(server, ask('/', last, 'HEAD'));
    assert.match(head, /\r\nContent-Length: 4\r\n/);
    assert.ok(head.endsWith('\r\n\r\n'), 'no body');
    const [same] = responses(await exchange(server, ask('/', ['If-None-Match: "1"', ...last])));
    assert.equal(same.status, 304);
    assert.match(same.head, /\r\nETag: "1"\r\n/);
    assert.equal((await get(server, '/', ['If-None-Match: "2"'])).body, 'body');
    assert.equal(calls.length, 1);
    assert.equal(server.cache.stats().notModified, 1);
  });

  test('variants are selected by Vary', limits, async (t) => {
    const { server, calls } = await serve(t, { duration: 60 }, (request, response) => {
      response.setHeader('Vary', 'Accept-Language');
      response.end(request.headers['accept-language'] ?? 'none');
    });
    for (const language of ['de', 'en', 'de', 'en']) {
      assert.equal((await get(server, '/', [`Accept-Language: ${language}`])).body, language);
    }
    assert.equal((await get(server)).body, 'none');
    assert.equal(calls.length, 3);
    assert.deepEqual(
      server.cache
        .entries()
        .map(({ vary, hits }) => ({ vary, hits }))
        .toSorted((a, b) => b.hits - a.hits),
      [1, 1, 0].map((hits) => ({ vary: 'accept-language', hits })),
    );
  });

  test(
    'other hosts, other targets, credentials and ranges are not answered from the cache',
    limits,
    async (t) => {
      const { server, calls } = await serve(t, { duration: 60 }, (request, response) => {
        response.end(
          `${request.headers.host} ${request.url} ${request.headers.authorization ?? ''}`,
        );
      });
      await get(server);
      assert.equal((await get(server, '/', ['Authorization: Basic eDp5'])).body, 'a / Basic eDp5');
      assert.equal((await get(server, '/?')).body, 'a /? ');
      const other = await exchange(
        server,
        'GET / HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n',
      );
      assert.equal(responses(other)[0].body, 'b / ');
      await get(server, '/', ['Range: bytes=0-0']);
      await get(server, '/', ['Cookie: a=b']);
      assert.equal(calls.length, 6);
      assert.equal((await get(server)).body, 'a / ', 'what others asked for is not what is stored');
      assert.equal(calls.length, 6);
    },
  );

  test(
    'what one client sends does not poison the key of others: X-Forwarded-Host, __proto__, absolute-form',
    limits,
    async (t) => {
      const { server } = await serve(t, { duration: 60 }, (request, response) => {
        response.end(JSON.stringify({ url: request.url, host: request.headers.host }));
      });
      const evil = ask('http://evil/', ['X-Forwarded-Host: evil', '__proto__: evil', ...last]);
      await exchange(server, evil);
      assert.deepEqual(JSON.parse((await get(server)).body), { url: '/', host: 'a' });
      const absolute = await exchange(server, ask('http://a/', last));
      assert.deepEqual(JSON.parse(responses(absolute)[0].body), { url: 'http://a/', host: 'a' });
      assert.deepEqual(JSON.parse((await get(server)).body), { url: '/', host: 'a' });
    },
  );

  for (const [what, tail] of [
    [
      'a whole response',
      'HTTP/1.1 200 OK\r\nCache-Control: max-age=99\r\nContent-Length: 4\r\n\r\nevil',
    ],
    ['a part of a head', 'HTTP/1.1 200 OK\r\nEvil: 1\r\nX: '],
  ]) {
    test(`bytes beyond the end of a response are not a response: ${what}`, limits, async (t) => {
      const { server } = await serve(t, { duration: 60 }, (request, response) => {
        if (request.url !== '/echo') {
          response.end('good');
          return;
        }
        response.writeHead(200, { 'Content-Length': 2, 'Cache-Control': 'no-store' });
        response.end(`ok${tail}`);
      });
      for (const requests of [[ask('/echo') + ask('/victim')], [ask('/echo'), ask('/other')]]) {
        const socket = net.connect(server.address().port, '127.0.0.1');
        socket.on('data', () => {});
        for (const request of requests) {
          socket.write(request);
          await once(socket, 'data');
        }
        socket.end();
        await once(socket, 'close');
      }
      for (const path of ['/victim', '/other']) {
        for (let times = 0; times < 2; times++) {
          const { head, body } = await get(server, path);
          assert.equal(body, 'good');
          assert.doesNotMatch(head, /evil/i);
        }
      }
    });
  }

  test('a client that has ended its side gets the whole hit', limits, async (t) => {
    // More than the sockets of both sides take at once.
    const body = 'z'.repeat(20e6);
    const { server } = await serve(
      t,
      { duration: 60, maxEntryBytes: 30e6 },
      (_request, response) => {
        response.end(body);
      },
    );
    await get(server);
    const accepted = once(server, 'connection');
    const socket = net.connect(server.address().port, '127.0.0.1');
    socket.pause();
    const [other] = await accepted;
    const ended = once(other, 'end');
    socket.end(ask());
    await ended;
    const received = await text(socket);
    assert.ok(received.endsWith('z') && received.length > body.length, `${received.length} bytes`);
    assert.equal(server.cache.stats().hits, 1);
  });

  test(
    'with maxRequestsPerSocket each request is counted, so none is answered from the cache',
    limits,
    async (t) => {
      const { server, calls } = await serve(t, { duration: 60 });
      server.maxRequestsPerSocket = 2;
      server.keepAliveTimeout = 4000;
      await get(server);
      await get(server);
      assert.equal(calls.length, 2);
    },
  );

  test('a connection that the application refuses gets nothing', limits, async (t) => {
    const { server } = await serve(t, { duration: 60 });
    assert.equal((await get(server)).body, 'x');
    let refused = 0;
    server.on('connection', (socket) => {
      refused++;
      socket.destroy();
    });
    // The first one after the listener came may still have been accepted before.
    const received = await exchange(server, ask('/', last)).catch(() => '');
    assert.equal(received, '');
    assert.equal(refused, 1);
  });
});

describe('the order of responses', () => {
  test('pipelined hits and misses are answered in order', limits, async (t) => {
    const { server, calls } = await serve(t, { duration: 60 }, (request, response) => {
      const delay = Number(new URLSearchParams(request.url.split('?')[1]).get('delay') ?? 0);
      setTimeout(() => response.end(request.url), delay);
    });
    await get(server, '/hit');
    const paths = ['/hit', '/a?delay=50', '/hit', '/b', '/c?delay=20', '/hit', '/hit', '/d'];
    const bytes = paths.map((path, at) => ask(path, at === paths.length - 1 ? last : [])).join('');
    const received = responses(await exchange(server, bytes));
    assert.deepEqual(
      received.map(({ body }) => body),
      paths,
    );
    assert.deepEqual(calls, ['/hit', '/a?delay=50', '/b', '/c?delay=20', '/d']);
  });

  test('many hits in one segment are answered', limits, async (t) => {
    const { server, calls } = await serve(t, { duration: 60 }, (_request, response) => {
      response.end('z'.repeat(20_000));
    });
    await get(server);
    const received = responses(await exchange(server, ask().repeat(999) + ask('/', last)));
    assert.equal(received.length, 1000);
    assert.ok(received.every(({ body }) => body.length === 20_000));
    assert.equal(calls.length, 1);
  });

  test('a client that does not read is not answered without bound', limits, async (t) => {
    const { server } = await serve(t, { duration: 60 }, (_request, response) => {
      response.end('z'.repeat(200_000));
    });
    await get(server);
    const before = process.memoryUsage().rss;
    const socket = net.connect(server.address().port, '127.0.0.1');
    socket.pause();
    socket.write(ask().repeat(2000));
    // 400 MB would be owed; another client is served meanwhile.
    for (let at = 0; at < 50; at++) await get(server);
    assert.ok(process.memoryUsage().rss - before < 100e6);
    assert.ok(server.cache.stats().hits < 1000);
    socket.resume();
    let length = 0;
    for await (const chunk of socket) {
      length += chunk.length;
      if (length >= 2000 * 200_000) break;
    }
    assert.ok(server.cache.stats().hits >= 2050);
  });
});

test('nothing is answered after the application has ended its side', limits, async (t) => {
  const { server } = await serve(t, { duration: 60 });
  await get(server);
  const accepted = once(server, 'connection');
  const socket = net.connect({
    port: server.address().port,
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  const [other] = await accepted;
  socket.write(ask());
  await once(socket, 'data');
  other.end();
  await once(socket, 'end');
  socket.end(ask());
  await once(socket, 'close');
  assert.equal(server.cache.stats().hits, 1);
});

describe('the cache over HTTPS', () => {
  test(
    'hits are answered, but not for another host than the handshake named',
    limits,
    async (t) => {
      const { authority, server: identity } = makeCertificates();
      let calls = 0;
      const options = { ...identity, cache: { duration: 60 } };
      const server = createSecureServer(options, (_request, response) =>
        response.end(`${++calls}`),
      );
      t.after(() => server.close());
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const secureGet = async (host) => {
        const { port } = server.address();
        const names = { servername: 'localhost', headers: { host } };
        const request = https.get({ port, ...names, ca: authority.cert, agent: false });
        const [response] = await once(request, 'response');
        return text(response);
      };
      assert.equal(await secureGet('localhost'), '1');
      assert.equal(await secureGet('localhost'), '1');
      assert.equal(await secureGet('other'), '2');
      assert.equal(await secureGet('other'), '3');
      assert.equal(server.cache.stats().passes['server-name'], 2);
      assert.ok(server.cache.entries().every(({ secure }) => secure));
    },
  );

  test(
    'a change on a connection that has fallen back invalidates the entries of TLS clients',
    limits,
    async (t) => {
      const { authority, server: identity } = makeCertificates();
      let calls = 0;
      const options = { ...identity, cache: { duration: 60 } };
      const server = createSecureServer(options, (_request, response) =>
        response.end(`${++calls}`),
      );
      t.after(() => server.close());
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const talk = (method, target) => {
        const { port } = server.address();
        const socket = tls.connect({ port, servername: 'localhost', ca: authority.cert });
        const fields = ['Host: localhost', 'Content-Length: 0', ...last];
        socket.write(`${[`${method} ${target} HTTP/1.1`, ...fields].join('\r\n')}\r\n\r\n`);
        return text(socket);
      };
      assert.match(await talk('GET', '/'), /1$/);
      assert.match(await talk('GET', '/'), /1$/);
      // Only Node's own parser takes a target in absolute form.
      assert.match(await talk('POST', 'https://localhost/'), /2$/);
      assert.equal(server.stats().connections.fallback, 1);
      assert.match(await talk('GET', '/'), /3$/);
    },
  );
});

describe('the removal of entries', () => {
  test('successful unsafe methods remove entries', limits, async (t) => {
    const { server, calls } = await serve(t, { duration: 60 }, (request, response) => {
      response.writeHead(request.url === '/bad' && request.method === 'POST' ? 400 : 200);
      response.end('x');
    });
    for (const path of ['/good', '/bad']) {
      await get(server, path);
      await exchange(server, ask(path, ['Content-Length: 0', ...last], 'POST'));
      await get(server, path);
    }
    assert.deepEqual(calls, ['/good', '/good', '/good', '/bad', '/bad']);
    assert.equal(server.cache.stats().invalidations, 1);
  });

  test('delete and clear remove entries', limits, async (t) => {
    const { server, calls } = await serve(t, { duration: 60 });
    for (const path of ['/a', '/a?b', '/c/1', '/c/2']) await get(server, path);
    assert.equal(server.cache.delete('/a'), 1);
    assert.equal(server.cache.delete('http://a/a?b'), 1);
    assert.equal(server.cache.delete('http://other/c/1'), 0);
    assert.equal(server.cache.delete({ prefix: '/c/', host: 'A' }), 2);
    await get(server, '/a');
    assert.equal(server.cache.clear(), 1);
    assert.equal(server.cache.stats().entries, 0);
    assert.equal(calls.length, 5);
    assert.throws(() => server.cache.delete({}), /must be a path/);
    // @ts-expect-error: there is no such field
    assert.throws(() => server.cache.delete({ paht: '/a' }), /must be a path, a URL.*paht/);
    assert.throws(() => server.cache.delete('a'), /must be a path/);
  });

  test('the bound on bytes removes entries', limits, async (t) => {
    const { server } = await serve(t, { duration: 60, maxBytes: 1e6 }, (_request, response) => {
      response.end('z'.repeat(50_000));
    });
    for (let at = 0; at < 200; at++) await get(server, `/${at}`);
    const { evictions, entries, bytes: held } = server.cache.stats();
    assert.ok(held <= 1e6 && entries > 10 && evictions > 150, `${held} ${entries} ${evictions}`);
  });

  test(
    'one request renews an entry that is about to expire, and the others get the entry',
    limits,
    async (t) => {
      const answer = (_request, response, call) => {
        response.setHeader('Cache-Control', 'max-age=1, stale-while-revalidate=60');
        if (call === 1) response.end('1');
        else server.once('go', () => response.end('2'));
      };
      // A second thread, which answers what is stale without renewing it, would stand in on a machine that is busy.
      const { server, calls } = await serve(t, true, answer, { whileBusy: false });
      await get(server);
      // The entry's own time has to pass: there is no other sign of it.
      while ((server.cache.entries()[0]?.freshForMs ?? 0) > 0) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const renewing = get(server);
      while (calls.length < 2) await new Promise(setImmediate);
      assert.equal((await get(server)).body, '1');
      assert.equal(server.cache.stats().stale, 2);
      server.emit('go');
      assert.equal((await renewing).body, '2');
      assert.equal((await get(server)).body, '2');
      assert.equal(calls.length, 2);
    },
  );
});

test('Cache-Status distinguishes hits from misses', limits, async (t) => {
  const { server } = await serve(t, { duration: 60, status: true });
  assert.match((await get(server)).head, /\r\nCache-Status: millrace; fwd=miss\r\n/);
  const { head } = await get(server);
  assert.match(head, /\r\nCache-Status: millrace; hit; ttl=\d+\r\n/);
  assert.equal(head.match(/cache-status/gi).length, 1);
  const post = await exchange(server, ask('/', ['Content-Length: 0', ...last], 'POST'));
  assert.match(post, /\r\nCache-Status: millrace; fwd=bypass\r\n/);
});

test('responses from the cache are activity for the timeout of a connection', limits, async (t) => {
  const { server } = await serve(t, { duration: 60 });
  await get(server);
  server.timeout = 1000;
  const socket = net.connect(server.address().port, '127.0.0.1');
  socket.on('data', () => {});
  const closed = once(socket, 'close');
  const from = performance.now();
  const asking = setInterval(() => socket.write(ask()), 50);
  t.after(() => clearInterval(asking));
  setTimeout(() => clearInterval(asking), 2500);
  await closed;
  assert.ok(performance.now() - from > 2500);
});
