// Every framing of a response, whole and in pieces: each is counted once, with its status, to its last byte.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { assertAllReceived, assertSeenByServer, sum } from '../../fixtures/truth/accounting.js';
import { FRAMINGS, LARGE_FRAMINGS, raw, response } from '../../fixtures/truth/responses.js';
import { truthServer } from '../../fixtures/truth/server.js';

const TIMEOUT = { timeout: 30_000 };

/** Loads a server that answers with this framing, `partsOf(n)` being the pieces of its n-th answer. */
async function assertFraming(t, framing, requests, { partsOf, pause, connections = 2 }) {
  const { bytes, method = 'GET', status = 200, closes = false, by } = framing;
  const server = await truthServer(t, ({ index }) => ({
    parts: partsOf?.(index) ?? [bytes],
    pause,
    ending: by,
  }));
  const result = await load({ url: server.url, method, requests, connections });
  await server.settled(result.connections.opened);
  assertSeenByServer(result, server);
  assertAllReceived(result, server);
  assert.deepEqual(result.statusCodes, { [status]: requests });
  assert.deepEqual(result.errors, []);
  const { opened } = result.connections;
  // Near the end several connections may be opened for the last request.
  if (closes) assert.ok(opened >= requests && opened < requests + connections, `${opened} opened`);
  else assert.equal(opened, connections);
}

describe('responses in one piece', TIMEOUT, () => {
  for (const [name, framing] of Object.entries({ ...FRAMINGS, ...LARGE_FRAMINGS })) {
    test(`a response in one piece is read: ${name}`, (t) => assertFraming(t, framing, 20, {}));
  }
});

describe('responses split in two at every byte', TIMEOUT, () => {
  for (const [name, framing] of Object.entries(FRAMINGS)) {
    test(`a response split in two at every byte is read: ${name}`, async (t) => {
      const { bytes } = framing;
      const partsOf = (index) => [bytes.subarray(0, index + 1), bytes.subarray(index + 1)];
      await assertFraming(t, framing, bytes.length - 1, { partsOf, pause: 1, connections: 8 });
    });
  }
});

describe('responses byte by byte', TIMEOUT, () => {
  for (const [name, framing] of Object.entries(FRAMINGS)) {
    test(`a response byte by byte is read: ${name}`, async (t) => {
      const bytes = Array.from(framing.bytes, (byte) => Buffer.of(byte));
      // A millisecond apart, so that the client reads nearly every one on its own.
      await assertFraming(t, framing, 2, { partsOf: () => bytes, pause: 1 });
    });
  }
});

describe('responses through TLS in pieces', TIMEOUT, () => {
  for (const name of ['chunked with extensions and trailers', 'until the connection closes']) {
    test(`a response through TLS in pieces is read: ${name}`, async (t) => {
      const framing = FRAMINGS[name];
      const pieces = Array.from(framing.bytes, (byte) => Buffer.of(byte));
      const tls = await selfSignedCertificate(['127.0.0.1']);
      const server = await truthServer(t, () => ({ parts: pieces, ending: framing.by }), { tls });
      const result = await load({ url: server.url, insecure: true, requests: 6, connections: 2 });
      await server.settled(result.connections.opened);
      assertSeenByServer(result, server);
      assertAllReceived(result, server);
      assert.equal(result.requests.ok, 6);
    });
  }
});

describe('pipelined responses', TIMEOUT, () => {
  const depth = 6;
  // Each framing that leaves the connection open, one after the other, each with a status of its own.
  const mixed = [
    [200, response('hello')],
    [201, raw('HTTP/1.1 201 Made', 'Transfer-Encoding: chunked', '', '3', 'abc', '0', '', '')],
    [204, raw('HTTP/1.1 204 None', '', '')],
    [404, Buffer.concat([raw('HTTP/1.1 103 Hints', '', ''), response('', { status: 404 })])],
    [304, raw('HTTP/1.1 304 Same', 'Content-Length: 9', '', '')],
    [500, response('HTTP/1.1 200 OK\r\n\r\n', { status: 500 })],
  ];
  const batch = Buffer.concat(mixed.map(([, bytes]) => bytes));
  const statusCodes = Object.fromEntries(mixed.map(([status]) => [status, 50]));

  /** Answers each batch of requests when its last one has arrived. */
  async function assertBatches(t, parts) {
    const server = await truthServer(t, ({ position }) => ({
      parts: position % depth === depth - 1 ? parts : [],
    }));
    const options = { pipelining: depth, connections: 1, requests: depth * 50 };
    const result = await load({ url: server.url, ...options });
    await server.settled(result.connections.opened);
    assertSeenByServer(result, server);
    assertAllReceived(result, server);
    assert.deepEqual(result.statusCodes, statusCodes);
    assert.equal(result.connections.opened, 1);
  }

  test('a batch of responses in one write is read', (t) => assertBatches(t, [batch]));

  test('a batch of responses in uneven pieces is read', (t) => {
    const pieces = [];
    for (let at = 0; at < batch.length; at += 7) pieces.push(batch.subarray(at, at + 7));
    return assertBatches(t, pieces);
  });

  test('a connection that ends within a batch is an error for the rest', async (t) => {
    const last = response('bye', { headers: ['Connection: close'] });
    const server = await truthServer(t, ({ position }) =>
      position === 3 ? { parts: [last], ending: 'end' } : response(),
    );
    const options = { pipelining: depth, connections: 1, requests: 60 };
    const result = await load({ url: server.url, ...options });
    await server.settled(result.connections.opened);
    assertSeenByServer(result, server);
    const answered = server.connections.map(({ requests }) => Math.min(4, requests.length));
    assert.equal(result.requests.ok, sum(answered));
    const lost = 60 - result.requests.ok;
    assert.deepEqual(
      result.errors.map(({ kind, count }) => [kind, count]),
      [['closed-early', lost]],
    );
    assert.equal(result.requests.transportErrors, lost);
  });
});
