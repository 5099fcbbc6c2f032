// Uploads within the server's windows, and responses within the client's.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import { millrace } from '../../../fixtures/truth/cli.js';
import {
  assertAllReceived,
  assertKept,
  clientResets,
  kinds,
  loadStreams,
} from '../../../fixtures/truth/http2/accounting.js';
import { answer, head } from '../../../fixtures/truth/http2/answers.js';
import { data, settings, windowUpdate } from '../../../fixtures/truth/http2/frames.js';
import { content, ok } from '../../../fixtures/truth/http2/scripts.js';
import { http2Server } from '../../../fixtures/truth/http2/server.js';

const TIMEOUT = { timeout: 30_000, concurrency: 3 };
const BODY = Array.from({ length: 5000 }, (_, n) => n % 10).join('');

const run = (server, options) =>
  loadStreams(server, { connections: 2, pipelining: 3, requests: 60, ...options });

/** Whether each body has arrived whole, once. */
function assertBodies(server, body = BODY) {
  for (const request of server.requests) assert.equal(request.body.latin1Slice(), body);
}

describe('an upload keeps to the windows of the server', TIMEOUT, () => {
  const servers = {
    'a window of 1 byte, opened by each': [
      { INITIAL_WINDOW_SIZE: 1 },
      { body: BODY.slice(0, 200) },
    ],
    'a window of 100 bytes': [{ INITIAL_WINDOW_SIZE: 100 }],
    'the default': [{}],
    'frames of any size': [{ MAX_FRAME_SIZE: 2 ** 24 - 1, INITIAL_WINDOW_SIZE: 2 ** 31 - 1 }],
  };
  for (const [name, [values, options]] of Object.entries(servers)) {
    test(`and arrives whole: ${name}`, async (t) => {
      const server = await http2Server(t, { settings: values, request: ok() });
      const body = BODY;
      const result = await run(server, { body, ...options });
      assert.equal(result.requests.ok, 60);
      assertAllReceived(result, server);
      assertBodies(server, options?.body);
      const waits = values.INITIAL_WINDOW_SIZE < body.length ? 60 : 0;
      assert.equal(result.windowWaits.requests, waits);
      assert.equal(result.windowWaits.totalMs > 0, waits > 0);
    });
  }

  test('a body that is larger than all windows arrives whole', async (t) => {
    const server = await http2Server(t, ok());
    const body = BODY.repeat(200);
    const result = await run(server, { body, requests: 8 });
    assert.equal(result.requests.ok, 8);
    assertBodies(server, body);
    assert.equal(result.windowWaits.requests, 8);
  });

  test('bodies that differ go on where they waited', async (t) => {
    const server = await http2Server(t, { settings: { INITIAL_WINDOW_SIZE: 50 }, request: ok() });
    await run(server, { body: `{{seq}}:${BODY}:{{seq}}` });
    const bodies = server.requests.map(({ body }) => body.latin1Slice());
    assert.deepEqual(
      bodies.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)),
      Array.from({ length: 60 }, (_, n) => `${n}:${BODY}:${n}`),
    );
  });

  test('a window of 0 that opens later, for each stream', async (t) => {
    const server = await http2Server(t, {
      settings: { INITIAL_WINDOW_SIZE: 0 },
      opensWindows: false,
      head: ({ id }, connection) => {
        setTimeout(() => connection.send(windowUpdate(id, BODY.length)), 20);
      },
      request: ok(),
    });
    const result = await run(server, { body: BODY, requests: 12 });
    assertBodies(server);
    assert.equal(result.windowWaits.requests, 12);
    assert.ok(result.windowWaits.totalMs >= 12 * 19, `${result.windowWaits.totalMs}`);
    assert.ok(result.latencyMs.min >= 19, 'the wait is in the latency');
    assert.ok(result.serviceTimeMs.min >= 19);
  });

  test('a window of 0 that opens by SETTINGS', async (t) => {
    const server = await http2Server(t, {
      settings: { INITIAL_WINDOW_SIZE: 0 },
      head({ position }, connection) {
        if (position === 2) connection.send(settings({ INITIAL_WINDOW_SIZE: 10_000 }));
      },
      request: ok(),
    });
    const result = await run(server, { body: BODY });
    assertBodies(server);
    // Three on each of two connections.
    assert.equal(result.windowWaits.requests, 6);
  });

  test('a connection window that opens late, while those of the streams are open', async (t) => {
    let left = 65_535;
    const server = await http2Server(t, {
      settings: { INITIAL_WINDOW_SIZE: 2 ** 31 - 1 },
      opensWindows: false,
      frame(frame, connection) {
        if (frame.type !== 'DATA') return;
        left -= frame.payload.length;
        if (left > 0) return;
        left = 65_535;
        setTimeout(() => connection.send(windowUpdate(0, 65_535)), 5);
      },
      request: ok(),
    });
    const result = await run(server, { body: BODY, connections: 1 });
    assert.equal(result.requests.ok, 60);
    assertBodies(server);
    assert.ok(result.windowWaits.requests >= 4, `${result.windowWaits.requests}`);
  });

  test('a window that becomes negative waits until it is positive again', async (t) => {
    const server = await http2Server(t, {
      settings: { INITIAL_WINDOW_SIZE: 3000 },
      opensWindows: false,
      async head(request, connection) {
        const { id } = request;
        await connection.until(() => request.bodyLength === 3000);
        // 3000 have been used: the window is now -2900.
        await connection.send(settings({ INITIAL_WINDOW_SIZE: 100 }));
        await connection.until(({ unacknowledged }) => unacknowledged === 0);
        assert.equal(request.receiveWindow, -2900);
        await connection.send(windowUpdate(id, 2900));
        await connection.send(windowUpdate(id, 10));
        await connection.until(() => request.bodyLength === 3010);
        connection.send(settings({ INITIAL_WINDOW_SIZE: 6000 }));
        await connection.until(() => request.isEndedByClient);
        await connection.send(settings({ INITIAL_WINDOW_SIZE: 3000 }));
        await connection.until(({ unacknowledged }) => unacknowledged === 0);
        connection.send(answer(request));
      },
    });
    const result = await run(server, { body: BODY, requests: 8, pipelining: 1 });
    assert.equal(result.requests.ok, 8);
    assertBodies(server);
  });

  test('a body whose answer comes early is not sent to its end', async (t) => {
    const server = await http2Server(t, {
      settings: { INITIAL_WINDOW_SIZE: 1000 },
      opensWindows: false,
      head: (request) => answer(request, { status: 413 }),
    });
    const result = await run(server, { body: BODY, requests: 20 });
    assert.deepEqual(result.statusCodes, { 413: 20 });
    assert.deepEqual(clientResets(server), { CANCEL: 20 });
    assert.equal(result.connections.opened, 2);
    for (const { bodyLength } of server.requests) assert.equal(bodyLength, 1000);
    assert.equal(result.windowWaits.requests, 0, 'nothing waited for a window');
  });

  test('a request whose redirections wait as well counts once', async (t) => {
    const location = { status: 307, headers: { location: '/end' }, body: null };
    const server = await http2Server(t, {
      request: (request, connection) =>
        connection.send(answer(request, request.header(':path') === '/' ? location : {})),
    });
    const body = BODY.repeat(20);
    const { url } = server;
    const result = await load({
      ...{ url, body, method: 'PUT', follow: 1, h2c: true, pid: false },
      ...{ connections: 2, pipelining: 3, requests: 12 },
    });
    assert.deepEqual([result.requests.ok, result.requests.followed], [12, 12]);
    assertBodies(server, body);
    assert.equal(result.windowWaits.requests, 12);
  });

  test('a window that never opens ends with the time limit, and the wait is reported', async (t) => {
    const server = await http2Server(t, { settings: { INITIAL_WINDOW_SIZE: 0 } });
    const result = await run(server, { body: BODY, requests: 6, timeout: 100 });
    assert.deepEqual(kinds(result), { timeout: 6 });
    assert.equal(result.windowWaits.requests, 6);
    assert.ok(result.windowWaits.totalMs >= 6 * 99, `${result.windowWaits.totalMs}`);
  });

  test('the command reports how long requests waited for windows', async (t) => {
    const server = await http2Server(t, {
      settings: { INITIAL_WINDOW_SIZE: 0 },
      head: ({ id }, connection) => {
        setTimeout(() => connection.send(windowUpdate(id, 10)), 20);
      },
      request: ok(),
    });
    const flags = ['--h2c', '-n', '6', '-c', '1', '-b', '0123456789', server.url];
    const { code, stdout } = await millrace(flags);
    assert.equal(code, 0);
    const text = stdout.replace(/\n {2}/g, ' ');
    const [, each, part] =
      /, ([\d.]+) ms each on average, ([\d.]+) ms of the mean/.exec(text) ?? [];
    assert.ok(Number(each) >= 19, text);
    assert.equal(part, each, 'each request waited');
  });
});

describe('responses keep to the windows of the client', TIMEOUT, () => {
  const windows = { 'the default': undefined, '1 byte': 1, '1,000 bytes': 1000, '64k': '64k' };
  for (const [name, window] of Object.entries(windows)) {
    test(`the windows are opened again: ${name}`, async (t) => {
      const length = window === 1 ? 100 : 20_000;
      const server = await http2Server(t, content(length));
      const result = await run(server, { ...(window && { window }), requests: 24 });
      assert.equal(result.requests.ok, 24);
      assertAllReceived(result, server);
      const bytes = window === '64k' ? 64_000 : (window ?? 2 ** 31 - 1);
      for (const { record } of server.connections) {
        assert.equal(record.clientSettings.INITIAL_WINDOW_SIZE, bytes);
      }
    });
  }

  test('padding counts as content does', async (t) => {
    // 1,000 streams of 200 bytes, of which 10 are content: three times the connection's window.
    const script = async (request, connection) => {
      await connection.until(({ sendWindow }) => sendWindow >= 200);
      const parts = [head(request), data(request.id, 'x'.repeat(10), { padding: 189, ends: true })];
      await connection.send(Buffer.concat(parts));
    };
    const server = await http2Server(t, script);
    const result = await run(server, { window: 65_535, requests: 1000, connections: 1 });
    assert.equal(result.requests.ok, 1000);
  });

  test('DATA of streams that were cancelled counts for the connection', async (t) => {
    // Each stream sends a quarter of the connection's window, and is cancelled before it ends.
    const server = await http2Server(t, async (request, connection) => {
      await connection.until(({ sendWindow }) => sendWindow >= 16_384);
      await connection.send(Buffer.concat([head(request), data(request.id, 'x'.repeat(16_384))]));
      await connection.until(() => request.reset);
      // It comes when the client has forgotten the stream.
      await connection.send(() =>
        connection.record.sendWindow >= 16_384 ? data(request.id, 'x'.repeat(16_384)) : '',
      );
    });
    const options = { window: 65_535, requests: 40, connections: 1, timeout: 30 };
    const result = await run(server, options);
    assert.deepEqual(kinds(result), { timeout: 40 });
    assert.equal(result.connections.opened, 1);
  });
});

describe('a server that does not keep to the windows of the client', TIMEOUT, () => {
  /** Waits until the client's settings bind the server, as those of a stream that is opened later do. */
  const late = (request, odd) => (request.position < 3 ? answer(request) : odd);

  test('ends a stream by more DATA than its window', async (t) => {
    const server = await http2Server(t, (request) =>
      late(request, answer(request, { body: 'x'.repeat(1001) })),
    );
    const result = await run(server, { window: 1000, connections: 1, requests: 23 });
    assert.deepEqual(kinds(result), { 'flow-control': 20 });
    assert.deepEqual(clientResets(server), { FLOW_CONTROL_ERROR: 20 });
    assert.equal(result.requests.ok, 3);
    assert.equal(result.connections.opened, 1);
  });

  const breaches = {
    'a window of the connection beyond 2^31-1': () => windowUpdate(0, 2 ** 31 - 1),
    'INITIAL_WINDOW_SIZE beyond 2^31-1': () => settings({ INITIAL_WINDOW_SIZE: 2 ** 31 }),
    'INITIAL_WINDOW_SIZE that makes a window too large': ({ id }) =>
      Buffer.concat([windowUpdate(id, 2 ** 30), settings({ INITIAL_WINDOW_SIZE: 2 ** 31 - 1 })]),
  };
  for (const [name, bytes] of Object.entries(breaches)) {
    test(`ends the connection by ${name}`, async (t) => {
      const server = await http2Server(t, bytes);
      const result = await run(server, { requests: 9, connections: 1 });
      assert.deepEqual(kinds(result), { 'flow-control': 9 });
      assertKept(server);
    });
  }

  test('ends a stream by a window beyond 2^31-1, and by an update of 0', async (t) => {
    const server = await http2Server(t, (request) => {
      const increment = request.position % 2 === 0 ? 2 ** 31 - 1 : 0;
      return Buffer.concat([windowUpdate(request.id, increment), answer(request)]);
    });
    const result = await run(server, { requests: 20, connections: 1 });
    assert.deepEqual(kinds(result), { 'flow-control': 10, protocol: 10 });
    assert.deepEqual(clientResets(server), { FLOW_CONTROL_ERROR: 10, PROTOCOL_ERROR: 10 });
    assert.equal(result.connections.opened, 1);
  });
});
