// Real servers: what node:http2 and nginx do is counted as it is. On each version of Node.js, as node:http2 is part of it.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { load } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { findFreePort } from '#internal/process/listening/free-port.js';
import { assertAddsUp } from '../../../fixtures/truth/accounting.js';
import { kinds } from '../../../fixtures/truth/http2/accounting.js';

const TIMEOUT = { timeout: 60_000, concurrency: 3 };
const identity = await selfSignedCertificate(['127.0.0.1']);
const LARGE = Buffer.alloc(1_000_000, 'x');

/** Starts a server of node:http2 for the time of the test; `sessions` are its connections. */
async function node(t, listener, { secure = false, ...options } = /** @type {any} */ ({})) {
  const server = secure
    ? http2.createSecureServer({ ...identity, ...options })
    : http2.createServer(options);
  const sessions = [];
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => {});
  });
  listener(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  const { port } = server.address();
  return { url: `${secure ? 'https' : 'http'}://127.0.0.1:${port}/`, server, sessions };
}

async function run(url, options) {
  const protocol = url.startsWith('https') ? { http2: true, insecure: true } : { h2c: true };
  const load_ = { requests: 300, connections: 3, pipelining: 10, ...options };
  const result = await load({ url, ...protocol, ...load_ });
  assertAddsUp(result);
  return result;
}

/** What applications of the compatibility API do. */
const compat = (server) =>
  server.on('request', (request, response) => {
    const { url } = request;
    if (url === '/large') return response.end(LARGE);
    if (url === '/empty') return response.writeHead(204).end();
    if (url === '/missing') return response.writeHead(404).end('not here');
    if (url === '/hints') response.writeEarlyHints({ link: '</a.css>; rel=preload; as=style' });
    if (url === '/trailers') {
      response.setHeader('trailer', 'x-sum');
      response.addTrailers({ 'x-sum': '1' });
    }
    if (url !== '/echo') return response.end('hello');
    request.pipe(response);
  });

describe('node:http2', TIMEOUT, () => {
  for (const secure of [false, true]) {
    const over = secure ? 'over TLS' : 'without TLS';
    test(`the compatibility API is loaded ${over}`, async (t) => {
      const { url } = await node(t, compat, { secure });
      const paths = { '': 200, large: 200, empty: 204, missing: 404, hints: 200, trailers: 200 };
      for (const [path, status] of Object.entries(paths)) {
        const result = await run(url + path, { requests: 60 });
        assert.deepEqual(result.statusCodes, { [status]: 60 }, path);
        assert.deepEqual(result.errors, [], path);
        if (path === 'large') assert.ok(result.bytes.received > 60 * LARGE.length);
      }
      const heads = await run(`${url}large`, { method: 'HEAD', requests: 60 });
      assert.deepEqual([heads.statusCodes, heads.errors], [{ 200: 60 }, []]);
      const echoed = await run(`${url}echo`, { body: LARGE, requests: 30 });
      assert.deepEqual([echoed.statusCodes, echoed.errors], [{ 200: 30 }, []]);
      assert.ok(echoed.bytes.sent > 30 * LARGE.length);
      assert.ok(echoed.bytes.received > 30 * LARGE.length);
    });
  }

  test('the stream API is loaded: trailers, informational heads, pushes that are refused', async (t) => {
    let pushes = 0;
    const { url } = await node(t, (server) =>
      server.on('stream', (stream) => {
        stream.additionalHeaders({ ':status': 102 });
        pushes += Number(stream.pushAllowed);
        stream.respond({ ':status': 201, 'x-a': 'b' }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }));
        stream.end('made');
      }),
    );
    const result = await run(url);
    assert.deepEqual([result.statusCodes, result.errors], [{ 201: 300 }, []]);
    assert.equal(pushes, 0);
  });

  test('windows are opened for as long as it sends: --window', async (t) => {
    const { url } = await node(t, compat);
    const result = await run(`${url}large`, { requests: 30, window: 65_535 });
    // Node.js 24 and 26 reset streams whose last data waited for a window, after the data and in place of END_STREAM.
    const resets = result.errors.filter(({ example }) => /: NO_ERROR$/.test(example ?? ''));
    assert.deepEqual(resets, result.errors);
    assert.equal(result.statusCodes[200] + result.requests.transportErrors, 30);
  });

  test('a small maxConcurrentStreams is kept to', async (t) => {
    let [open, most] = [0, 0];
    const settings = { maxConcurrentStreams: 4, headerTableSize: 0, initialWindowSize: 10 };
    const { url } = await node(
      t,
      (server) =>
        server.on('stream', (stream) => {
          most = Math.max(most, ++open);
          stream.on('close', () => open--);
          stream.resume().on('end', () => {
            stream.respond();
            stream.end('ok');
          });
        }),
      { settings },
    );
    const result = await run(url, { connections: 1, body: 'x'.repeat(100), requests: 60 });
    assert.deepEqual([result.statusCodes, result.errors], [{ 200: 60 }, []]);
    assert.equal(most, 4);
    assert.equal(result.connections.maxConcurrentStreams, 4);
  });

  test('streams that it closes with an error are counted with it', async (t) => {
    let closed = 0;
    const { url } = await node(t, (server) =>
      server.on('stream', (stream) => {
        stream.on('error', () => {});
        if (stream.id % 10 === 1) {
          closed++;
          stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
        } else {
          stream.respond();
          stream.end('ok');
        }
      }),
    );
    const result = await run(url);
    assert.deepEqual(kinds(result), { 'stream-reset': closed });
    assert.match(result.errors[0].example, /ENHANCE_YOUR_CALM/);
    assert.equal(result.connections.opened, 3);
  });

  test('sessions that it closes gracefully lose no stream', async (t) => {
    const { url } = await node(t, (server) => {
      server.on('session', (session) => {
        let streams = 0;
        session.on('stream', (stream) => {
          stream.respond();
          stream.end('ok');
          if (++streams === 20) session.close();
        });
      });
    });
    const result = await run(url, { pipelining: 1 });
    assert.deepEqual([result.statusCodes, result.errors], [{ 200: 300 }, []]);
    assert.ok(result.connections.opened >= 15, `${result.connections.opened}`);
    assert.ok(result.connections.goaway >= 12, `${result.connections.goaway}`);
  });

  test('sessions that it destroys lose what was in flight, once', async (t) => {
    const { url } = await node(t, (server) => {
      server.on('session', (session) => {
        let streams = 0;
        session.on('stream', (stream) => {
          stream.on('error', () => {});
          if (++streams === 20) return session.destroy(undefined, http2.constants.NGHTTP2_CANCEL);
          stream.respond();
          stream.end('ok');
        });
      });
    });
    const result = await run(url);
    const { ok, transportErrors } = result.requests;
    assert.equal(ok + transportErrors, 300);
    assert.ok(transportErrors >= 15 && transportErrors <= 10 * result.connections.opened);
    for (const kind of Object.keys(kinds(result))) {
      assert.match(kind, /^(refused-stream|closed-early|reset|stream-reset)$/);
    }
  });

  test('what it takes too long for is cancelled, and it sees that', async (t) => {
    let cancelled = 0;
    const { url, sessions } = await node(t, (server) =>
      server.on('stream', (stream) => {
        stream.resume().on('error', () => {});
        stream.on('close', () => {
          cancelled += Number(stream.rstCode === http2.constants.NGHTTP2_CANCEL);
        });
      }),
    );
    const result = await run(url, { requests: 20, timeout: 100 });
    assert.deepEqual(kinds(result), { timeout: 20 });
    assert.equal(result.connections.opened, 3);
    await Promise.all(sessions.map((it) => it.destroyed || once(it, 'close')));
    assert.equal(cancelled, 20);
  });

  test('both versions are spoken with allowHTTP1', async (t) => {
    const { url } = await node(t, compat, { secure: true, allowHTTP1: true });
    for (const [flag, version] of [
      ['http2', 'http2'],
      ['preferHttp2', 'http2'],
      ['http1', 'http1'],
    ]) {
      const protocol = flag === 'http1' ? {} : { [flag]: true };
      const options = { url, insecure: true, requests: 30, connections: 3, ...protocol };
      const { connections, requests } = await load(options);
      assert.equal(requests.ok, 30);
      // Versions are counted where there is a choice.
      if (flag !== 'http1') assert.equal(connections[version], 3);
    }
  });
});

describe('nginx', { ...TIMEOUT, skip: !hasNginx() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-nginx-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Starts nginx with HTTP/2, with TLS and without, for the time of the test. */
  async function nginx(t, directives = '') {
    const [clear, secure] = [await findFreePort(), await findFreePort()];
    const path = (name) => join(folder, `${clear}-${name}`);
    writeFileSync(path('cert.pem'), identity.cert);
    writeFileSync(path('key.pem'), identity.key);
    writeFileSync(path('large'), LARGE);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((kind) => `${kind}_temp_path ${path(kind)};`)
      .join(' ');
    // Started as root, nginx would run its worker as a user who may not read the folder.
    const user = process.getuid() === 0 ? 'user root;' : '';
    writeFileSync(
      path('conf'),
      `${user} daemon off; worker_processes 1; pid ${path('pid')}; error_log ${path('log')};
      events { worker_connections 1024; }
      http {
        access_log off; ${temporary} ${directives}
        server {
          listen 127.0.0.1:${clear} http2;
          listen 127.0.0.1:${secure} ssl http2;
          ssl_certificate ${path('cert.pem')}; ssl_certificate_key ${path('key.pem')};
          location = /large { root ${folder}; try_files /${clear}-large =404; }
          location = /missing { return 404; }
          location / { return 200 "hello"; }
        }
      }`,
    );
    const child = spawn('nginx', ['-c', path('conf'), '-p', folder, '-e', path('log')], {
      stdio: 'ignore',
    });
    t.after(async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    while (!(await accepts(clear))) {
      if (child.exitCode !== null) throw new Error(`nginx ended with code ${child.exitCode}`);
    }
    return { clear: `http://127.0.0.1:${clear}/`, secure: `https://127.0.0.1:${secure}/` };
  }

  test('is loaded with TLS and without', async (t) => {
    const urls = await nginx(t);
    for (const url of Object.values(urls)) {
      const result = await run(url);
      assert.deepEqual([result.statusCodes, result.errors], [{ 200: 300 }, []]);
      assert.equal(result.connections.http2, 3);
      assert.equal(result.connections.maxConcurrentStreams, 128);
    }
    const large = await run(`${urls.clear}large`, { requests: 60, window: 65_535 });
    assert.deepEqual([large.statusCodes, large.errors], [{ 200: 60 }, []]);
    assert.ok(large.bytes.received > 60 * LARGE.length);
    const missing = await run(`${urls.secure}missing`, { method: 'HEAD' });
    assert.deepEqual(missing.statusCodes, { 404: 300 });
  });

  test('ends connections after some requests, and loses none that it accepted', async (t) => {
    const { clear } = await nginx(t, 'keepalive_requests 50;');
    const { requests, connections, errors } = await run(clear, { requests: 1000 });
    assert.ok(connections.opened >= 15, `${connections.opened}`);
    assert.ok(connections.goaway >= 15, `${connections.goaway}`);
    const refused = errors.find(({ kind }) => kind === 'refused-stream')?.count ?? 0;
    assert.equal(requests.ok + refused, 1000, JSON.stringify(errors));
  });

  test('refuses a body that is too large', async (t) => {
    const { clear } = await nginx(t, 'client_max_body_size 1k;');
    const result = await run(clear, { body: LARGE, requests: 20, connections: 2, pipelining: 2 });
    assert.deepEqual([result.statusCodes, result.errors], [{ 413: 20 }, []]);
  });
});

/** Whether something listens on a port. */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    const end = (result) => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
  });
}

function hasNginx() {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
