// Limits and handshakes while the event loop is busy.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { createServer } from 'millrace/http';
import { createServer as createSecureServer } from 'millrace/https';
import {
  block,
  blockUntil,
  blockUntilNoMoreCome,
  startClient,
} from '../../../fixtures/stack/blocked/blocked-loop.js';
import { listen } from '../../../fixtures/stack/listen.js';
import { makeCertificates } from '../../../fixtures/tls/certificates.js';

const limits = { timeout: 20_000 };
/** How long the loop is blocked: a client that does not wait for it has its answer meanwhile. */
const BLOCKED_MS = 2000;

/** A file that is not there yet. */
function makeFile(t) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-busy-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'file');
}

describe('responseTimeout while the loop is busy', () => {
  test(
    'a request of a handler that computes for too long is answered in time, and only once',
    limits,
    async (t) => {
      let end;
      const options = { responseTimeout: 200, responseTimeoutStatus: 503 };
      const server = createServer(options, (_request, response) => {
        end = block(BLOCKED_MS);
        response.end('late');
      });
      const client = startClient(t, await listen(t, server), 'compute');
      await client.next();
      const [{ status, body, at }] = await client.next();
      assert.equal(status, 503);
      assert.equal(body, '');
      assert.ok(at < end, `${at - end} ms after it`);
      assert.equal(server.stats().responseTimeouts, 1);
      assert.equal(server.stats().requests.inFlight, 0);
    },
  );

  test('a response that has begun is not answered again', limits, async (t) => {
    const server = createServer({ responseTimeout: 200 }, (_request, response) => {
      response.writeHead(200, { 'Content-Length': 4 });
      response.write('ab');
      setImmediate(() => {
        block(BLOCKED_MS);
        response.end('cd');
      });
    });
    const client = startClient(t, await listen(t, server), 'compute');
    await client.next();
    const [{ status, body }] = await client.next();
    assert.equal(status, 200);
    assert.ok(['ab', 'abcd'].includes(body), body);
  });
});

describe('maxRequestsInFlight while the loop is busy', () => {
  test('requests beyond maxRequestsInFlight are refused at once', limits, async (t) => {
    const file = makeFile(t);
    let client;
    const server = createServer({ maxRequestsInFlight: 2 }, (request, response) => {
      if (request.url === '/compute') {
        client.go();
        blockUntil(file);
      }
      response.end('done');
    });
    client = startClient(t, await listen(t, server), 'one-and-more', file);
    await client.next();
    const [one, ...more] = await client.next();
    assert.deepEqual([one.status, one.body], [200, 'done']);
    // Of the four, one waits. The loop was blocked until the others were refused.
    const refused = more.filter(({ status }) => status === 503);
    assert.equal(refused.length, 3, JSON.stringify(more));
    assert.equal(server.stats().overloaded, 3);
  });
});

describe('connections that come while the loop is busy', () => {
  /** Length of Node's queue of connections that wait; as many are accepted while nobody hears of them. */
  const QUEUE = 511;
  /** What else may get a descriptor meanwhile. */
  const OTHERS = 5;
  const linux = { ...limits, skip: process.platform !== 'linux' };

  async function crowd(t, clients, maxConnections) {
    const file = makeFile(t);
    let client;
    let accepted = 0;
    let dropped = 0;
    const server = createServer({ cache: true }, (request, response) => {
      if (request.url === '/block') {
        client.go();
        accepted = blockUntilNoMoreCome(file);
      }
      response.end('done');
    });
    server.maxConnections = maxConnections;
    server.on('drop', () => dropped++);
    client = startClient(t, await listen(t, server), 'crowd', file, clients);
    await client.next();
    const answers = await client.next();
    const answered = answers.filter(({ status, body }) => status === 200 && body === 'done');
    return { accepted, dropped, answered: answered.length };
  }

  test('most wait in the queue of the system, and all are answered', linux, async (t) => {
    const { accepted, dropped, answered } = await crowd(t, 700, undefined);
    assert.ok(accepted <= QUEUE + OTHERS, `${accepted} accepted`);
    assert.deepEqual({ dropped, answered }, { dropped: 0, answered: 701 });
  });

  test('no more are accepted than maxConnections, and the others dropped', linux, async (t) => {
    const { accepted, dropped, answered } = await crowd(t, 400, 20);
    assert.ok(accepted <= 20 + OTHERS, `${accepted} accepted`);
    assert.equal(dropped + answered, 401);
    assert.ok(answered >= 20, `${answered} answered`);
  });
});

describe('TLS while the loop is busy', () => {
  const { server: identity, other } = makeCertificates();
  const stored = (request, response) => {
    const { servername, authorized } = request.socket;
    response.end(`${servername} ${authorized} ${request.socket.getProtocol()}`);
  };

  async function busy(t, options, prepare) {
    const server = createSecureServer({ ...identity, cache: { duration: 60 }, ...options }, stored);
    const port = await listen(t, server);
    const client = startClient(t, port, 'handshakes');
    await client.next();
    const first = startClient(t, port, 'handshakes');
    await first.next();
    first.go();
    await first.next();
    prepare?.(server);
    client.go();
    const end = block(BLOCKED_MS);
    return { server, end, answers: await client.next() };
  }

  test('handshakes and hits do not wait for the loop', limits, async (t) => {
    const { server, end, answers } = await busy(t, {});
    for (const { status, body, at } of answers) {
      assert.equal(status, 200);
      assert.equal(body, 'a.test false TLSv1.3');
      assert.ok(at < end, `${at - end} ms after it`);
    }
    assert.ok(server.stats().requests.cached >= 4);
  });

  test('a context that has just been set is used at once', limits, async (t) => {
    const { end, answers } = await busy(t, {}, (server) => server.setSecureContext(other));
    for (const { status, name, at } of answers) {
      assert.equal(status, 200);
      assert.equal(name, 'other');
      assert.ok(at < end, `${at - end} ms after it`);
    }
  });

  test(
    'handshakes wait for the application if it has just begun to choose the context',
    limits,
    async (t) => {
      const { end, answers } = await busy(t, {}, (server) => server.addContext('a.test', other));
      for (const { status, name, at } of answers) {
        assert.equal(status, 200);
        assert.equal(name, 'other');
        assert.ok(at >= end, `${end - at} ms before it`);
      }
    },
  );

  test('handshakes wait for the application if it chooses the context', limits, async (t) => {
    const names = [];
    const SNICallback = (name, done) => {
      names.push(name);
      done(null, undefined);
    };
    const { end, answers } = await busy(t, { SNICallback });
    for (const { status, at } of answers) {
      assert.equal(status, 200);
      assert.ok(at >= end, `${end - at} ms before it`);
    }
    assert.equal(names.length, 8);
  });
});

describe('more events than one batch contains', () => {
  const CONNECTIONS = 60;
  /** Of each of three connections; a batch has room for 4096 events. */
  const CHUNKS = 10_500;

  test(
    'numbers of ended connections are not reused before their end is reported',
    limits,
    async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'millrace-batch-'));
      t.after(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'go');
      const script = new URL(
        '../../../fixtures/stack/blocked/full-batch-server.js',
        import.meta.url,
      ).pathname;
      const child = spawn(process.execPath, [script, file], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      t.after(() => child.kill('SIGKILL'));
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const said = async () => (await lines.next()).value;
      const port = Number(await said());
      const send = (socket, bytes) => new Promise((sent) => socket.write(bytes, sent));
      const connect = async (bytes) => {
        const socket = net.connect(port, '127.0.0.1').on('error', () => {});
        t.after(() => socket.destroy());
        await send(socket, bytes);
        await said();
        return socket;
      };
      const head = (line, ...fields) =>
        `${[`${line} HTTP/1.1`, 'Host: a', ...fields].join('\r\n')}\r\n\r\n`;
      const many = (name) =>
        Promise.all(
          Array.from({ length: CONNECTIONS }, (_, at) =>
            connect(head(`GET /${name}${at}`, 'Connection: close')),
          ),
        );
      const uploads = [];
      for (let at = 0; at < 3; at++) {
        uploads.push(await connect(head('POST /upload', 'Transfer-Encoding: chunked')));
      }
      const old = await many('old');
      await connect(head('GET /busy'));
      await Promise.all(uploads.map((socket) => send(socket, '1\r\nx\r\n'.repeat(CHUNKS))));
      for (const socket of old) socket.resetAndDestroy();
      await Promise.all(old.map((socket) => socket.closed || once(socket, 'close')));
      writeFileSync(file, '');
      const fresh = await many('fresh');
      await connect(head('GET /answer-all'));
      for (const [at, socket] of fresh.entries()) {
        const [, body] = (await text(socket)).split('\r\n\r\n');
        assert.match(body, /^\/fresh\d+$/, `connection ${at}`);
      }
    },
  );
});
