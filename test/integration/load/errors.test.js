// Every way in which a request or a connect can fail, provoked: its kind, its count, and the exit code.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import tls from 'node:tls';
import { inspect } from 'node:util';
import { load } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { findFreePort } from '#internal/process/listening/free-port.js';
import { assertAddsUp, assertSeenByServer } from '../../fixtures/truth/accounting.js';
import { millrace, millraceJson } from '../../fixtures/truth/cli.js';
import { raw, response } from '../../fixtures/truth/responses.js';
import { delay, hang, ok } from '../../fixtures/truth/scripts.js';
import { truthServer } from '../../fixtures/truth/server.js';

// Each has a server of its own, and waits for most of its time.
const TIMEOUT = { timeout: 60_000, concurrency: 3 };

/** Kind and number of the errors of a result. */
function kinds(result) {
  return Object.fromEntries(result.errors.map(({ kind, count }) => [kind, count]));
}

/** The port of a process that listens and is stopped: Linux lets two connections in, further connects are not answered. */
async function stoppedListener(t) {
  const code = `const server = require('net').createServer();
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  return Number(line);
}

/** Takes the places of a stopped listener. */
async function fillBacklog(t, port) {
  for (let n = 0; n < 2; n++) {
    const socket = net.connect(port, '127.0.0.1');
    t.after(() => socket.destroy());
    await once(socket, 'connect');
  }
}

/** The port of a server that listens until the test ends. */
async function listening(t, server) {
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}

describe('a server that speaks another protocol', TIMEOUT, () => {
  const on = (listener) => net.createServer((socket) => listener(socket.on('error', () => {})));
  for (const [what, make, kind, example] of [
    ['HTTP/2 without TLS', () => http2.createServer(), 'protocol', /speaks HTTP\/2: use --h2c/],
    [
      'SSH',
      () => on((socket) => socket.write('SSH-2.0-x\r\n')),
      'protocol',
      /speaks SSH, not HTTP/,
    ],
    [
      'TLS, with an alert',
      () =>
        on((socket) => socket.once('data', () => socket.end(Buffer.from('15030300020246', 'hex')))),
      'protocol',
      /speaks TLS: use https:\/\//,
    ],
    [
      'TLS, without a word',
      (identity) => tls.createServer(identity, (socket) => socket.on('error', () => {})),
      'closed-early',
      /speaks TLS: use https:\/\//,
    ],
    [
      'nothing: it closes',
      () => on((socket) => socket.once('data', () => socket.end())),
      'closed-early',
      /^the server closed the connection/,
    ],
  ]) {
    test(`the error says what the server speaks: ${what}`, async (t) => {
      const port = await listening(t, make(await selfSignedCertificate(['127.0.0.1'])));
      const url = `http://127.0.0.1:${port}/`;
      const { errors } = await load({ url, requests: 2, connections: 1 });
      assert.ok(
        errors.some((error) => error.kind === kind && example.test(error.example)),
        inspect(errors),
      );
    });
  }
});

describe('a server that refuses a body before it has arrived', TIMEOUT, () => {
  const refusal = 'HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
  for (const secure of [false, true]) {
    test(`the status that refuses a body is counted ${secure ? 'over TLS' : 'without TLS'}`, async (t) => {
      const refuse = (socket) =>
        socket
          .on('error', () => {})
          .once('data', () => socket.write(refusal, () => setImmediate(() => socket.destroy())));
      const identity = await selfSignedCertificate(['127.0.0.1']);
      const server = secure ? tls.createServer(identity, refuse) : net.createServer(refuse);
      const url = `${secure ? 'https' : 'http'}://127.0.0.1:${await listening(t, server)}/`;
      const body = Buffer.alloc(8 << 20, 'x');
      const result = await load({
        url,
        body,
        method: 'PUT',
        requests: 6,
        connections: 2,
        insecure: true,
      });
      assert.deepEqual([result.statusCodes, result.errors], [{ 413: 6 }, []]);
    });
  }
});

describe('an unreachable target ends with exit code 3 and the reason', TIMEOUT, () => {
  test('a refused connection ends the run with its reason', async () => {
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}/`;
    await assert.rejects(load({ url, duration: 500 }), {
      code: 'ERR_MILLRACE_UNREACHABLE',
      message: new RegExp(`127.0.0.1:${port}.*refused`, 'i'),
    });
    const { code, stderr, stdout } = await millrace(['-d', '1', url]);
    assert.equal(code, 3);
    assert.match(stderr, new RegExp(`^millrace: .*127.0.0.1:${port}.*refused.*\n$`, 'i'));
    assert.equal(stdout, '');
  });

  test('a missing Unix socket ends the run with its reason', async () => {
    const { code, stderr } = await millrace(['-d', '1', 'unix:/nowhere/at/all.sock:/']);
    assert.equal(code, 3);
    assert.match(stderr, /^millrace: .*\/nowhere\/at\/all\.sock.*\n$/);
  });

  test('a connect timeout ends the run within the limit', async (t) => {
    const port = await stoppedListener(t);
    await fillBacklog(t, port);
    const started = performance.now();
    const options = { url: `http://127.0.0.1:${port}/`, connectTimeout: 300, connections: 2 };
    await assert.rejects(load(options), {
      code: 'ERR_MILLRACE_UNREACHABLE',
      message: new RegExp(`127.0.0.1:${port}: no connection within 300`),
    });
    assert.ok(performance.now() - started >= 300);
    assert.ok(performance.now() - started < 2000, 'not at the default limit of 3 s');
  });

  test('an unknown name ends the run with its reason', async () => {
    const { code, stderr } = await millrace(['-d', '1', 'http://no-such-name.invalid/']);
    assert.equal(code, 3);
    assert.match(stderr, /^millrace: .*no-such-name\.invalid.*\n$/);
  });

  test('a certificate of an unknown authority ends the run with its reason', async (t) => {
    const server = await truthServer(t, ok(), { tls: await selfSignedCertificate(['127.0.0.1']) });
    const { code, stderr } = await millrace(['-d', '1', server.url]);
    assert.equal(code, 3);
    assert.match(stderr, /^millrace: .*certificate.*\n$/i);
    assert.ok(server.tlsErrors.length > 0);
    assert.equal(server.requests.length, 0);
  });

  test('a certificate for another name ends the run with its reason', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const identity = await selfSignedCertificate(['example.test']);
    const ca = join(folder, 'ca.pem');
    writeFileSync(ca, identity.cert);
    const server = await truthServer(t, ok(), { tls: identity });
    const { code, stderr } = await millrace(['-d', '1', '--ca', ca, server.url]);
    assert.equal(code, 3);
    assert.match(stderr, /^millrace: .*(name|127\.0\.0\.1).*\n$/i);
  });

  test('a server without TLS ends the run with its reason', async (t) => {
    const server = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    });
    t.after(() => server.close());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { code, stderr } = await millrace([
      '-d',
      '1',
      `https://127.0.0.1:${server.address().port}`,
    ]);
    assert.equal(code, 3);
    assert.match(stderr, /^millrace: .*127\.0\.0\.1:\d+: .*does not speak TLS: use http:\/\/\n$/);
  });

  test('a server that offers only HTTP/2 ends the run with its reason', async (t) => {
    const identity = await selfSignedCertificate(['127.0.0.1']);
    const server = await listening(t, http2.createSecureServer(identity));
    const { code, stderr } = await millrace(['-k', '-n', '1', `https://127.0.0.1:${server}/`]);
    assert.equal(code, 3);
    assert.match(stderr, /^millrace: .*127\.0\.0\.1:\d+: .*HTTP\/1\.1 over TLS.*HTTP\/2.*\n$/);
  });

  test('a server that does not answer the TLS handshake ends the run within the limit', async (t) => {
    const server = await truthServer(t, hang());
    const url = server.url.replace('http:', 'https:');
    await assert.rejects(load({ url, connectTimeout: 300 }), {
      code: 'ERR_MILLRACE_UNREACHABLE',
      message: /TLS handshake not finished within 300/,
    });
  });
});

describe('failed requests are counted by kind', TIMEOUT, () => {
  const CL10 = raw('HTTP/1.1 200 OK', 'Content-Length: 10', '', '12345');
  const CHUNK = raw('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '5', 'hello', '');
  const cases = {
    'reset before the response': ['reset', { parts: [], ending: 'reset' }],
    'closed before any byte': ['closed-early', { parts: [], ending: 'end' }],
    'closed in the head': [
      'closed-early',
      { parts: ['HTTP/1.1 200 OK\r\nContent-'], ending: 'end' },
    ],
    'closed in a body with a length': ['closed-early', { parts: [CL10], ending: 'end' }],
    'closed in a chunked body': ['closed-early', { parts: [CHUNK], ending: 'end' }],
    'closed after 100 Continue': [
      'closed-early',
      { parts: [raw('HTTP/1.1 100 Continue', '', '')], ending: 'end' },
    ],
    'not HTTP': ['protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    'HTTP/2 unasked': ['protocol', 'HTTP/2 200\r\n\r\n'],
    'a status that is no number': ['protocol', 'HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n'],
    'a Content-Length that is no number': [
      'protocol',
      'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok',
    ],
    'two different lengths': [
      'protocol',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!',
    ],
    'a chunk size that is no number': [
      'protocol',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
    ],
    'a header without a colon': ['protocol', 'HTTP/1.1 200 OK\r\nHello\r\n\r\n'],
  };
  for (const [name, [kind, answer]] of Object.entries(cases)) {
    test(`a failed request is counted by its kind: ${name}`, async (t) => {
      const server = await truthServer(t, () => answer);
      const result = await load({ url: server.url, requests: 6, connections: 2 });
      await server.settled(result.connections.opened);
      assertSeenByServer(result, server);
      assert.deepEqual(kinds(result), { [kind]: 6 });
      assert.equal(result.requests.transportErrors, 6);
      assert.equal(result.connections.opened, 6);
      assert.equal(result.latencyMs.censored, 6);
      assert.ok(result.errors[0].example.length > 0);
    });
  }

  test('if the first request of a pipelined batch fails, the others fail with it', async (t) => {
    const server = await truthServer(t, () => ({ parts: [], ending: 'reset' }));
    const result = await load({ url: server.url, requests: 12, connections: 1, pipelining: 4 });
    await server.settled(result.connections.opened);
    assertAddsUp(result);
    assert.equal(result.requests.transportErrors, 12);
    assert.deepEqual(kinds(result), { reset: 3, 'closed-early': 9 });
  });

  test('bytes beyond the Content-Length are an error of the connection', async (t) => {
    const surplus = Buffer.concat([response(), Buffer.from('surplus')]);
    const server = await truthServer(t, () => surplus);
    const result = await load({ url: server.url, requests: 6, connections: 1 });
    await server.settled(result.connections.opened);
    assertSeenByServer(result, server);
    assert.equal(result.requests.ok, 6);
    assert.ok(result.connections.opened > 1, 'the connection cannot be trusted any more');
    const { errors, warnings } = result;
    assert.match(JSON.stringify({ errors, warnings }), /answer no request/, 'and the user is told');
  });

  test('a request without a response is a timeout', async (t) => {
    const server = await truthServer(t, ({ index }) =>
      index % 2 ? { parts: [], ending: 'hang' } : response(),
    );
    const result = await load({ url: server.url, requests: 6, connections: 1, timeout: 500 });
    await server.settled(result.connections.opened);
    assertSeenByServer(result, server);
    assert.deepEqual(kinds(result), { timeout: 3 });
    assert.equal(result.requests.timeouts, 3);
    assert.equal(result.requests.ok, 3);
  });

  test('a body that stops in the middle is a timeout', async (t) => {
    const server = await truthServer(t, () => ({ parts: [CL10], ending: 'hang' }));
    const result = await load({ url: server.url, requests: 2, connections: 1, timeout: 100 });
    assert.deepEqual(kinds(result), { timeout: 2 });
  });

  test('a body that arrives too slowly is a timeout', async (t) => {
    const drops = Array.from({ length: 100 }, () => 'x');
    const parts = ['HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n', ...drops];
    const server = await truthServer(t, () => ({ parts, pause: 10, ending: 'hang' }));
    const result = await load({ url: server.url, requests: 2, connections: 1, timeout: 150 });
    assert.deepEqual(kinds(result), { timeout: 2 });
    assert.ok(result.durationMs < 1000, 'the limit holds for the whole response');
  });

  test('a reset before a request was sent is counted', async (t) => {
    const accept = (index) => (index % 2 ? 'reset' : undefined);
    const server = await truthServer(t, () => ({ parts: [response()], ending: 'end' }), { accept });
    const result = await load({ url: server.url, requests: 20, connections: 2 });
    assertAddsUp(result);
    const { ok, transportErrors, notSent } = result.requests;
    assert.equal(ok + transportErrors + notSent.connectFailed, 20);
    assert.ok(result.errors.some(({ kind }) => kind === 'reset'));
  });

  test('a TLS connection cut without close_notify is an error in a body that ends with the connection', async (t) => {
    const tls = await selfSignedCertificate(['127.0.0.1']);
    const body = raw('HTTP/1.1 200 OK', '', 'an end that nobody vouches for');
    const server = await truthServer(
      t,
      ({ index }) => ({ parts: [body], ending: index % 2 ? 'end' : 'cut' }),
      { tls },
    );
    const result = await load({ url: server.url, insecure: true, requests: 6, connections: 1 });
    assertAddsUp(result);
    assert.equal(result.requests.ok, 3);
    assert.deepEqual(kinds(result), { 'closed-early': 3 });
  });

  test('a run whose requests all failed ends with exit code 3', async (t) => {
    const server = await truthServer(t, () => ({ parts: [], ending: 'reset' }));
    const { code, stdout } = await millrace(['-n', '5', '-c', '1', server.url]);
    assert.equal(code, 3);
    assert.match(stdout, /No request succeeded/);
  });

  test('a run whose requests all timed out ends with exit code 3', async (t) => {
    const server = await truthServer(t, hang());
    const { code } = await millrace(['-n', '2', '-c', '2', '-T', '100ms', server.url]);
    assert.equal(code, 3);
  });
});

describe('connects that fail while others work', TIMEOUT, () => {
  test('refused connects are counted while others work', async (t) => {
    const close = response('ok', { headers: ['Connection: close'] });
    const server = await truthServer(t, ({ index }) => {
      if (index === 20) server.stopListening();
      return { after: 5, parts: [close], ending: 'end' };
    });
    const result = await load({ url: server.url, connections: 3, duration: 500 });
    assertAddsUp(result);
    assert.ok(result.requests.ok >= 20);
    assert.equal(kinds(result)['connect-refused'], result.connections.failed);
    assert.ok(result.connections.failed >= 3);
    // A refused connection is tried again, but not at once.
    assert.ok(result.connections.failed < 100, `${result.connections.failed} attempts`);
  });

  test('connect timeouts are counted while others work', async (t) => {
    const url = `http://127.0.0.1:${await stoppedListener(t)}/`;
    const result = await load({ url, connections: 4, connectTimeout: 200, duration: 300 });
    assertAddsUp(result);
    assert.equal(result.connections.opened, 2);
    assert.ok(result.connections.failed >= 2);
    assert.deepEqual(kinds(result), { 'connect-timeout': result.connections.failed });
    assert.equal(result.requests.inFlightAtEnd, 2);
  });

  test('a lack of descriptors is counted while others work', async (t) => {
    const server = await truthServer(t, delay(5));
    const via = ['sh', '-c', 'ulimit -n 96; exec "$@"', 'sh'];
    const args = ['-c', '200', '-d', '500ms', server.url];
    const { code, result } = await millraceJson(args, { via });
    assertAddsUp(result);
    assert.equal(code, 0);
    assert.ok(kinds(result)['fd-limit'] > 0, JSON.stringify(result.errors));
    assert.ok(result.connections.opened > 10 && result.connections.opened < 96);
    assert.ok(
      result.warnings.some(({ id, message }) => id === 'errors-fd-limit' && /ulimit/.test(message)),
    );
  });
});
