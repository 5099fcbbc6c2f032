// Which version of HTTP is spoken, by ALPN and by prior knowledge, and what is said where a server speaks another one.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { assertSeenByServer } from '../../../fixtures/truth/accounting.js';
import { millrace } from '../../../fixtures/truth/cli.js';
import { assertKept, assertStreams } from '../../../fixtures/truth/http2/accounting.js';
import { ok as ok2 } from '../../../fixtures/truth/http2/scripts.js';
import { http2Server } from '../../../fixtures/truth/http2/server.js';
import { raw } from '../../../fixtures/truth/responses.js';
import { ok } from '../../../fixtures/truth/scripts.js';
import { truthServer } from '../../../fixtures/truth/server.js';

const TIMEOUT = { timeout: 30_000, concurrency: 3 };
const identity = await selfSignedCertificate(['127.0.0.1']);
const withoutAlpn = { ...identity, ALPNProtocols: undefined };

async function run(server, options) {
  const load_ = { pid: false, requests: 40, connections: 4, pipelining: 2, insecure: true };
  const result = await load({ url: server.url, ...load_, ...options });
  await server.settled(result.connections.opened);
  assert.equal(result.requests.ok, 40);
  return result;
}

/** How many connections spoke which version. */
function versions({ connections: { http1, http2 } }) {
  return { http1, http2 };
}

/** A server that does as `on` says with its sockets. */
async function listening(t, on) {
  const server = net.createServer((socket) => on(socket.on('error', () => {})));
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}/`;
}

describe('the version that both sides speak', TIMEOUT, () => {
  for (const flag of ['http2', 'preferHttp2']) {
    test(`is HTTP/2 by ALPN: ${flag}`, async (t) => {
      const tls = { ...identity, ALPNProtocols: ['h2', 'http/1.1'] };
      const server = await http2Server(t, ok2(), { tls });
      const result = await run(server, { [flag]: true });
      assertStreams(result, server);
      assert.deepEqual(versions(result), { http1: 0, http2: 4 });
      for (const { alpn } of server.sessions) assert.equal(alpn, 'h2');
    });
  }

  for (const [name, tls] of Object.entries({
    'http/1.1 in ALPN': identity,
    'no ALPN': withoutAlpn,
  })) {
    test(`is HTTP/1.1 with preferHttp2 and a server with ${name}`, async (t) => {
      const server = await truthServer(t, ok(), { tls });
      const result = await run(server, { preferHttp2: true, pipelining: 1 });
      assertSeenByServer(result, server);
      assert.deepEqual(versions(result), { http1: 4, http2: 0 });
    });
  }

  test('is HTTP/1.1 without a flag, though the server prefers HTTP/2', async (t) => {
    const tls = { ...identity, ALPNProtocols: ['h2', 'http/1.1'] };
    const server = await truthServer(t, ok(), { tls });
    const result = await run(server, {});
    assertSeenByServer(result, server);
    for (const { alpn } of server.sessions) assert.equal(alpn, 'http/1.1');
  });

  test('is HTTP/2 by prior knowledge over a Unix socket', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-h2-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'a.sock');
    const server = await http2Server(t, ok2(), { listen: { path } });
    const result = await run(server, { url: `unix:${path}:/a?b`, h2c: true });
    assertStreams(result, server);
    assert.equal(server.requests[0].target, '/a?b');
    assert.equal(server.requests[0].header(':scheme'), 'http');
  });

  test('differs by target: TLS with HTTP/2, and HTTP/2 by prior knowledge', async (t) => {
    const secure = await http2Server(t, ok2(), { tls: identity });
    const clear = await http2Server(t, ok2());
    const targets = [{ url: secure.url }, { url: clear.url }];
    const options = { targets, http2: true, h2c: true, insecure: true };
    const result = await load({ ...options, requests: 40, connections: 2 });
    await Promise.all([secure.settled(1), clear.settled(1)]);
    for (const server of [secure, clear]) assertKept(server);
    assert.equal(secure.requests.length + clear.requests.length, 40);
    assert.ok(Math.abs(secure.requests.length - 20) <= 12, `${secure.requests.length}`);
    assert.equal(versions(result).http1, 0);
    assert.equal(secure.requests[0].header(':scheme'), 'https');
  });
});

describe('a server that speaks another version', TIMEOUT, () => {
  const secure = (start, script, tls) => async (t) => (await start(t, script(), { tls })).url;
  const clear = (start, script) => async (t) => (await start(t, script())).url;
  const refusal = raw('HTTP/1.1 400 Bad Request', 'Connection: close', '', '');
  const cases = {
    'http2, and http/1.1 in ALPN': [
      secure(truthServer, ok, identity),
      ...[{ http2: true }, /HTTP\/2.*\(ALPN\): leave out --http2/],
    ],
    'http2, and no ALPN': [
      secure(truthServer, ok, withoutAlpn),
      ...[{ http2: true }, /HTTP\/2.*\(ALPN\): leave out --http2/],
    ],
    'http2, and HTTP/2 without ALPN': [
      secure(http2Server, ok2, withoutAlpn),
      ...[{ http2: true }, /HTTP\/2.*\(ALPN\)/],
    ],
    'no option, and h2 alone in ALPN': [
      secure(http2Server, ok2, identity),
      ...[{}, /HTTP\/2.*--http2/],
    ],
    'h2c, and a server of HTTP/1.1': [
      clear(truthServer, ok),
      ...[{ h2c: true }, /speaks HTTP\/1.1: leave out --h2c/],
    ],
    'h2c, and a refusal in HTTP/1.1': [
      (t) => listening(t, (socket) => socket.once('data', () => socket.end(refusal))),
      ...[{ h2c: true }, /speaks HTTP\/1.1: leave out --h2c/],
    ],
    'h2c, and a refusal in HTTP/1.1 byte by byte': [
      (t) =>
        listening(t, (socket) => {
          socket.setNoDelay(true);
          for (const byte of refusal) socket.write(Buffer.of(byte));
        }),
      ...[{ h2c: true }, /speaks HTTP\/1.1: leave out --h2c/],
    ],
    'h2c, and SSH': [
      (t) => listening(t, (socket) => socket.write('SSH-2.0-x\r\n')),
      ...[{ h2c: true }, /speaks SSH, not HTTP/],
    ],
    'h2c, and a server that closes': [
      (t) => listening(t, (socket) => socket.once('data', () => socket.end())),
      ...[{ h2c: true }, /closed the connection before its SETTINGS/],
    ],
    'h2c, and an alert of TLS': [
      (t) =>
        listening(t, (socket) =>
          socket.once('data', () => socket.end(Buffer.from('15030300020246', 'hex'))),
        ),
      ...[{ h2c: true }, /speaks TLS: use https:\/\//],
    ],
    'h2c, and TLS without a word': [
      async (t) => (await truthServer(t, ok(), { tls: identity })).url.replace('https', 'http'),
      ...[{ h2c: true }, /speaks TLS: use https:\/\//],
    ],
  };
  for (const [name, [start, options, message]] of Object.entries(cases)) {
    test(`is named, with the flag that fits: ${name}`, async (t) => {
      const run = { url: await start(t), insecure: true, requests: 10, connections: 2 };
      await assert.rejects(load({ ...run, ...options }), {
        code: 'ERR_MILLRACE_UNREACHABLE',
        message,
      });
    });
  }

  test('is named by the command, in one line', async (t) => {
    const { url } = await truthServer(t, ok(), { tls: identity });
    const { code, stdout, stderr } = await millrace(['-k', '-n', '10', '--http2', url]);
    assert.equal(code, 3);
    assert.match(stderr, /^millrace: .*leave out --http2.*\n$/);
    assert.equal(stdout, '');
  });

  test('is named by the errors of a run in HTTP/1.1: HTTP/2 without TLS', async (t) => {
    const server = await http2Server(t, ok2());
    const { errors } = await load({ url: server.url, requests: 2, connections: 1 });
    assert.match(errors[0].example, /speaks HTTP\/2.*--h2c/);
  });
});

test('a flag that does not fit ends with one line and exit code 2', TIMEOUT, async () => {
  for (const flags of [['--http2'], ['--h2c', '--window', 'wide']]) {
    const { code, stdout, stderr } = await millrace(['-n', '1', ...flags, 'http://127.0.0.1:1/']);
    assert.equal(code, 2);
    assert.match(stderr, /^millrace: .*\n$/);
    assert.equal(stdout, '');
  }
});
