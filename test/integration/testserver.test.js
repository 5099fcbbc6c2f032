import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { startTestServer } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';

const servers = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function start(options) {
  const server = await startTestServer(options);
  servers.push(server);
  return server;
}

/** One request on a connection of its own. */
async function get(server, path = '/', options = {}) {
  const { request } = server.cert === null ? http : https;
  const target = server.port === null ? { socketPath: server.url.slice(5, -2), path } : {};
  const url = server.port === null ? 'http://localhost' : new URL(path, server.url);
  const sent = request(url, { agent: false, ca: server.cert ?? undefined, ...target, ...options });
  sent.end();
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

/** What the server sends on a connection until it closes it. */
async function raw(server, request) {
  const socket = connect(server.port, '127.0.0.1');
  socket.write(request);
  return text(socket);
}

/** Looks until it is so; the runner's timeout is the end. */
async function until(condition) {
  while (!(await condition())) await sleep(5);
}

function isIPv6({ address }) {
  return address === '::1';
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('responses of the test server', { timeout: 20_000 }, () => {
  test('the test server answers with a short text and counts the requests', async () => {
    const server = await start({ processes: 0 });
    const { status, headers, body } = await get(server);
    assert.equal(status, 200);
    assert.equal(body, 'hello, world\n');
    assert.equal(headers['content-length'], '13');
    assert.equal(headers['keep-alive'], undefined);
    await get(server, '/any/path?and=query');
    assert.equal(await server.requests(), 2);
    assert.equal(server.pid, process.pid);
  });

  test('the test server sets status and size', async () => {
    const server = await start({ processes: 0, status: 503, size: '2k' });
    const { status, body } = await get(server);
    assert.equal(status, 503);
    assert.equal(body.length, 2000);
    const head = await get(server, '/', { method: 'HEAD' });
    assert.equal(head.headers['content-length'], '2000');
    assert.equal(head.body, '');
  });

  test('the test server sends no content if the status allows none', async () => {
    const server = await start({ processes: 0, status: 204 });
    const answer = await raw(server, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.match(answer, /^HTTP\/1\.1 204 /);
    assert.doesNotMatch(answer, /content-length|transfer-encoding/i);
    assert.ok(answer.endsWith('\r\n\r\n'));
  });

  test('the test server sends several chunks', async () => {
    const server = await start({ processes: 0, chunked: true, size: 10 });
    const answer = await raw(server, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.match(answer, /transfer-encoding: chunked/i);
    const [, content] = answer.split('\r\n\r\n3\r\n');
    assert.equal(content, 'mil\r\n3\r\nlra\r\n3\r\nce\n\r\n1\r\nm\r\n0\r\n\r\n');
  });

  test('the test server sends chunked responses without content', async () => {
    const server = await start({ processes: 0, chunked: true, size: 0 });
    assert.equal((await get(server)).body, '');
  });

  test('the test server closes the connection after each response', async () => {
    const server = await start({ processes: 0, close: true });
    const answer = await raw(server, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match(answer, /connection: close\r\n/i);
  });

  test('the test server sends an exact share of errors', async () => {
    const server = await start({ processes: 0, errorRate: 0.25 });
    const statuses = [];
    for (let n = 0; n < 8; n++) statuses.push((await get(server)).status);
    assert.deepEqual(statuses, [200, 200, 200, 500, 200, 200, 200, 500]);
  });

  test('the test server answers after the content of the request', async () => {
    const server = await start({ processes: 0 });
    const socket = connect(server.port, '127.0.0.1').setEncoding('utf8');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nab');
    await until(async () => (await server.requests()) === 1);
    await get(server);
    assert.equal(received, '');
    socket.write('cd');
    await once(socket, 'close');
    assert.match(received, /^HTTP\/1\.1 200 /);
  });

  test('the test server answers as the query says', async () => {
    const server = await start({ processes: 0 });
    const begin = performance.now();
    const { status, body } = await get(server, '/?delay=30&status=404&size=5');
    assert.ok(performance.now() - begin >= 29);
    assert.equal(status, 404);
    assert.equal(body, 'millr');
    const refused = await get(server, '/?size=big');
    assert.equal(refused.status, 400);
    assert.match(refused.body, /^size must be a size in bytes, .* \(got 'big'\)/);
  });
});

describe('delays of the test server', { timeout: 20_000 }, () => {
  // Node's timers count whole milliseconds from the beginning of a turn.
  const early = 1;

  test('the test server answers after a fixed delay', async () => {
    const server = await start({ processes: 0, delay: '40ms' });
    const begin = performance.now();
    await get(server);
    assert.ok(performance.now() - begin >= 40 - early);
  });

  test('the test server answers after a random delay between two bounds', async (t) => {
    t.mock.method(Math, 'random', () => 0.5);
    const server = await start({ processes: 0, delay: { from: 20, to: 80 } });
    const begin = performance.now();
    await get(server);
    assert.ok(performance.now() - begin >= 50 - early);
  });

  test('the test server delays every n-th response', async () => {
    const server = await start({ processes: 0, delay: { ms: '1h', every: 2 } });
    await get(server);
    const late = get(server).then(
      () => 'answered',
      (error) => error.code,
    );
    await until(async () => (await server.requests()) === 2);
    await get(server);
    await server.close();
    assert.equal(await late, 'ECONNRESET');
  });
});

describe('addresses of the test server', { timeout: 20_000 }, () => {
  test('the test server listens on a Unix socket, which is removed afterwards', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-'));
    const path = join(folder, 'test.sock');
    for (const processes of [0, 1, 2]) {
      const server = await start({ path, processes });
      assert.equal(server.url, `unix:${path}:/`);
      assert.equal((await get(server)).status, 200);
      await server.close();
      assert.ok(!existsSync(path), `left over by ${processes} processes`);
    }
    rmSync(folder, { recursive: true });
  });

  test('the test server listens on IPv6', {
    skip: !networkInterfaces().lo?.some(isIPv6),
  }, async () => {
    const server = await start({ processes: 0, host: '::1' });
    assert.match(server.url, /^http:\/\/\[::1\]:\d+\/$/);
    assert.equal((await get(server)).status, 200);
  });

  test('the test server creates a certificate', async () => {
    const server = await start({ processes: 1, tls: true });
    assert.match(server.url, /^https:/);
    assert.equal((await get(server)).body, 'hello, world\n');
    const { port, cert } = server;
    const local = await get({ ...server, url: `https://localhost:${port}/`, cert });
    assert.equal(local.status, 200);
  });

  test('the test server uses a certificate of the user: text, Buffers, lists or paths', async (t) => {
    const { cert, key } = await selfSignedCertificate(['127.0.0.1']);
    const folder = mkdtempSync(join(tmpdir(), 'millrace-testserver-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = (name, content) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const encryption = { cipher: 'aes-256-cbc', passphrase: 'secret' };
    const locked = createPrivateKey(key).export({ type: 'pkcs8', format: 'pem', ...encryption });
    for (const [processes, own] of [
      [0, { cert, key }],
      [1, { cert: Buffer.from(cert), key: [{ pem: Buffer.from(locked), passphrase: 'secret' }] }],
      [0, { cert: [cert], keyFile: file('key.pem', key) }],
      [1, { certFile: file('cert.pem', cert), key: new Uint8Array(Buffer.from(key)) }],
    ]) {
      const server = await start({ processes, tls: own });
      assert.equal(server.cert, cert);
      assert.equal((await get(server)).status, 200);
    }
  });

  for (const [version, close] of [
    ['TLSv1.2', false],
    ['TLSv1.3', false],
    ['TLSv1.3', true],
  ]) {
    test(`all processes accept a session ticket of ${version}, close ${close}`, async () => {
      const { port, cert, pids } = await start({ processes: 2, tls: true, close });
      assert.equal(pids.length, 2);
      const handshake = async (session) => {
        const options = { port, ca: cert, host: '127.0.0.1', session };
        const socket = tls.connect({ ...options, minVersion: version, maxVersion: version });
        const ticket = once(socket, 'session');
        await once(socket, 'secureConnect');
        socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
        const reused = socket.isSessionReused();
        socket.resume();
        const issued = reused ? session : (await ticket)[0];
        await once(socket, 'close');
        return { reused, issued };
      };
      const first = await handshake();
      assert.equal(first.reused, false);
      // Connections are handed out in turn, so that both processes get some.
      for (let n = 0; n < 8; n++) assert.ok((await handshake(first.issued)).reused);
    });
  }
});

describe('processes of the test server', { timeout: 20_000 }, () => {
  test('the processes share the connections and have ended after close()', async () => {
    const server = await start({ processes: 2 });
    assert.equal(server.pids.length, 2);
    assert.ok(!server.pids.includes(server.pid));
    for (let n = 0; n < 6; n++) await get(server);
    assert.equal(await server.requests(), 6);
    await server.close();
    assert.deepEqual([server.pid, ...server.pids].filter(isRunning), []);
    await assert.rejects(get(server), { code: 'ECONNREFUSED' });
  });

  test('close() does not wait for responses', async () => {
    const server = await start({ processes: 1, delay: '1h' });
    const waiting = assert.rejects(get(server), { code: 'ECONNRESET' });
    await until(async () => (await server.requests()) === 1);
    await server.close();
    await waiting;
    await assert.rejects(server.requests(), { message: /has ended$/ });
  });

  test('the processes survive Ctrl-C, which the calling process handles', async () => {
    const server = await start({ processes: 2 });
    for (const pid of [server.pid, ...server.pids]) process.kill(pid, 'SIGINT');
    for (let n = 0; n < 2; n++) assert.equal((await get(server)).status, 200);
  });

  test('the processes end when the calling process is killed', async () => {
    const program = `
      import { startTestServer } from ${JSON.stringify(import.meta.resolve('millrace'))};
      const server = await startTestServer({ processes: 2 });
      console.log(JSON.stringify([server.pid, ...server.pids]));`;
    const args = ['--input-type=module', '-e', program];
    const caller = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(caller.stdout, 'data');
    const pids = JSON.parse(line);
    assert.equal(pids.filter(isRunning).length, 3);
    caller.kill('SIGKILL');
    await until(() => !pids.some(isRunning));
  });

  test('the processes end together', async () => {
    const server = await start({ processes: 2 });
    process.kill(server.pids[0], 'SIGKILL');
    await until(() => ![server.pid, ...server.pids].some(isRunning));
    await server.exited;
    await assert.rejects(server.requests(), { message: 'a process of the test server has ended' });
  });

  test('exited is reported after close(), too', async () => {
    for (const processes of [0, 1]) {
      const server = await start({ processes });
      const end = await Promise.race([server.exited.then(() => 'exited'), sleep(0, 'running')]);
      assert.equal(end, 'running');
      await server.close();
      await server.exited;
      await server.close();
    }
  });
});

describe('options that the test server refuses', { timeout: 20_000 }, () => {
  const cases = [
    [{ port: 70_000 }, /^port must be a whole number from 0 to 65535.* \(got 70000\)/],
    [{ processes: -1 }, /^processes must be a whole number from 0 .* \(got -1\)/],
    [{ status: 101 }, /^status must be a whole number from 200 to 599.* \(got 101\)/],
    [{ size: -1 }, /^size must be a size in bytes, .* \(got -1\)/],
    [{ size: '1G' }, /^size must be a whole number .* \(got 1000000000\)/],
    [{ delay: 'soon' }, /^delay must be a duration such as .* \(got 'soon'\)/],
    [{ delay: '600h' }, /^delay must be at most 24 days \(got 600h\)/],
    [{ delay: { from: 2, to: 1 } }, /^delay.from must not exceed delay.to \(got 2ms and 1ms\)/],
    [{ delay: { ms: 2, every: 0 } }, /^delay.every must be a whole number from 1 .* \(got 0\)/],
    [{ errorRate: 2 }, /^errorRate must be a number from 0 to 1 \(got 2\)/],
    [{ path: '/tmp/x', tls: true }, /^tls cannot be used on a Unix socket/],
    [
      { tls: { cert: '-----BEGIN ', key: '-----BEGIN ' } },
      /^tls: cert and key are not a PEM certificate and its key: /,
    ],
    ...['cert', 'key'].map((name) => [
      { tls: { [name]: import.meta.filename } },
      new RegExp(`^tls.${name} must be PEM .*; the option for a path is tls.${name}File$`),
    ]),
    [
      { tls: { certFile: 'a', cert: '-----BEGIN ' } },
      /^cert and certFile cannot be used together: /,
    ],
    [{ tls: { certFile: '/no/such' } }, /^cert file '\/no\/such' cannot be read: no such file/],
    [{ prt: 5 }, /^unknown option 'prt'; did you mean 'port'\?$/],
    [{ port: {} }, /^port must be a number.* \(got \{\}\)/],
    [{ host: 5 }, /^host must be text \(got 5\)/],
    [{ delay: null }, /^delay must be milliseconds.* \(got null\)/],
    [
      { delay: { from: 1 } },
      /^delay must be an object with from and to, or .* \(got \{ from: 1 \}\)/,
    ],
    [{ delay: { ms: 1, every: 2, x: 1 } }, /^delay: unknown field 'x'$/],
    [{ tls: {} }, /^tls needs cert: set cert or certFile$/],
    [{ tls: { cert: '-----BEGIN ' } }, /^tls needs key: set key or keyFile$/],
    [{ host: '192.0.2.1' }, /^cannot listen on 192\.0\.2\.1 port 0: this machine has no such addr/],
    [{ path: '/no/such/folder/x' }, /^cannot listen on \/no\/such\/folder\/x: no such folder$/],
    [{ path: `/tmp/${'x'.repeat(99)}` }, /^path must have 1 to 103 bytes \(got 104\)$/],
    [{ path: '' }, /^path must have 1 to 103 bytes \(got 0\)/],
    [{ path: process.execPath, processes: 3 }, /^cannot listen on \/.*: it is in use$/],
    [{ host: '' }, /^host must be an address/],
  ];
  for (const [options, message] of cases) {
    test(JSON.stringify(options), async () => {
      await assert.rejects(startTestServer(options), { code: 'ERR_MILLRACE_USAGE', message });
    });
  }

  test('the test server refuses a port in use', async () => {
    const { port } = await start({ processes: 0 });
    for (const processes of [0, 1, 2]) {
      await assert.rejects(startTestServer({ port, processes }), {
        message: `cannot listen on 127.0.0.1 port ${port}: it is in use`,
      });
    }
  });
});
