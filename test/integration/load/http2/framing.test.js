// Every framing of a response, whole and in pieces: each stream is counted once, with its status, to its last byte.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { isFull } from '../../../fixtures/size.js';
import { assertAllReceived, assertStreams } from '../../../fixtures/truth/http2/accounting.js';
import { answer } from '../../../fixtures/truth/http2/answers.js';
import { slices } from '../../../fixtures/truth/http2/frames.js';
import { FRAMINGS, LARGE_FRAMINGS } from '../../../fixtures/truth/http2/framings.js';
import { http2Server } from '../../../fixtures/truth/http2/server.js';

const TIMEOUT = { timeout: 30_000, concurrency: 3 };

/** Loads a server that answers with this framing, or as `script` does. */
async function assertFraming(
  t,
  framing,
  { requests, script, tls, ...options } = /** @type {any} */ ({}),
) {
  const { bytes, method = 'GET', status = 200 } = framing;
  const server = await http2Server(t, script ?? bytes, { tls });
  const protocol = tls ? { http2: true, insecure: true } : { h2c: true };
  const load_ = {
    method,
    pid: false,
    requests,
    connections: 2,
    pipelining: 3,
    ...protocol,
    ...options,
  };
  const result = await load({ url: server.url, ...load_ });
  await server.settled(result.connections.opened);
  assert.deepEqual(result.errors, []);
  assert.deepEqual(result.statusCodes, { [status]: requests });
  assert.equal(result.connections.opened, load_.connections);
  assertStreams(result, server);
  // What follows the last end of a stream, the client need not read.
  if (framing.goesOn) return;
  assertAllReceived(result, server);
  for (const { record } of server.connections) assert.equal(record.unacknowledged, 0);
}

describe('responses in one piece', TIMEOUT, () => {
  for (const [name, framing] of Object.entries({ ...FRAMINGS, ...LARGE_FRAMINGS })) {
    test(`a response in one piece is read: ${name}`, (t) =>
      assertFraming(t, framing, { requests: 20 }));
  }
});

describe('responses split in two at every byte', TIMEOUT, () => {
  // Slow tests have all of them: that events do not depend on how bytes are split is a property of crates/http.
  const some = [
    'padding in each frame',
    'trailers',
    'the fields of a priority',
    '100, 102 and 103 before',
    'frames of the connection between those of the stream',
    'fields in the code of Huffman, and from the static table',
  ];
  for (const name of isFull ? Object.keys(FRAMINGS) : some) {
    const framing = FRAMINGS[name];
    test(`a response split in two at every byte is read: ${name}`, async (t) => {
      // The length is the same for all streams.
      const { length } = framing.bytes({ id: 1 });
      const script = (request) => {
        const bytes = framing.bytes(request);
        const cut = 1 + (request.index % (length - 1));
        return { parts: [[bytes.subarray(0, cut), bytes.subarray(cut)]] };
      };
      await assertFraming(t, framing, { requests: length - 1, script, connections: 4 });
    });
  }
});

describe('responses byte by byte', TIMEOUT, () => {
  for (const [name, framing] of Object.entries(FRAMINGS)) {
    test(`a response byte by byte is read: ${name}`, async (t) => {
      const script = (request) => ({ parts: [slices(framing.bytes(request), 1)] });
      await assertFraming(t, framing, { requests: 6, script });
    });
  }
});

describe('responses through TLS', TIMEOUT, () => {
  for (const name of ['padding in each frame', 'fragments of a byte', '100, 102 and 103 before']) {
    test(`a response through TLS byte by byte is read: ${name}`, async (t) => {
      const tls = await selfSignedCertificate(['127.0.0.1']);
      const script = (request) => ({ parts: [slices(FRAMINGS[name].bytes(request), 1)] });
      await assertFraming(t, FRAMINGS[name], { requests: 6, script, tls });
    });
  }
});

describe('responses of many streams at once', TIMEOUT, () => {
  /** Holds requests until so many have come on a connection, then answers all of them. */
  function batches(size, send) {
    const held = new Map();
    return (request, connection) => {
      const waiting = held.get(connection) ?? [];
      held.set(connection, [...waiting, request]);
      if (waiting.length + 1 < size) return;
      held.delete(connection);
      send([...waiting, request], connection);
    };
  }

  const framings = Object.values(FRAMINGS).filter(({ method }) => method === undefined);
  const bytesOf = (request) => framings[request.position % framings.length].bytes(request);
  // On one connection, so that the last batch is as large as the others.
  const options = { connections: 1, pipelining: 12, requests: 480 };
  const statusOf = (request) => framings[request.position % framings.length].status ?? 200;

  /** Loads a server whose streams have every framing. */
  async function assertMixed(t, send) {
    const server = await http2Server(t, batches(12, send));
    const result = await load({ url: server.url, h2c: true, pid: false, ...options });
    await server.settled(1);
    const expected = {};
    for (const request of server.requests) {
      expected[statusOf(request)] = (expected[statusOf(request)] ?? 0) + 1;
    }
    assert.deepEqual(result.statusCodes, expected);
    assertStreams(result, server);
  }

  test('the answers of twelve streams come in one write', (t) =>
    assertMixed(t, (requests, connection) =>
      connection.send(Buffer.concat(requests.map(bytesOf))),
    ));

  test('the answers of twelve streams come in uneven pieces, the last stream first', (t) =>
    assertMixed(t, (requests, connection) =>
      connection.send(slices(Buffer.concat(requests.toReversed().map(bytesOf)), 7)),
    ));

  test('the frames of twelve streams take turns', async (t) => {
    const server = await http2Server(
      t,
      batches(12, (requests, connection) => {
        const answers = requests.map((it) => splitFrames(answer(it, { body: 'hello', chunk: 1 })));
        const turns = answers[0].flatMap((_, turn) => answers.map((frames) => frames[turn]));
        connection.send(slices(Buffer.concat(turns), 100));
      }),
    );
    const result = await load({ url: server.url, h2c: true, pid: false, ...options });
    await server.settled(1);
    assert.deepEqual(result.statusCodes, { 200: 480 });
    assertStreams(result, server);
    assertAllReceived(result, server);
  });

  test('header blocks refer to those of other streams, and the table changes its size', async (t) => {
    const server = await http2Server(t, (request, { encoder }) => ({
      parts: [
        () => {
          if (request.position % 50 === 20) encoder.resize(0);
          if (request.position % 50 === 20)
            encoder.resize(request.position % 100 === 20 ? 100 : 4096);
          const headers = { 'x-n': `${request.position % 7}`, 'x-same': 'y'.repeat(40) };
          const trailers = { 'x-t': `${request.position % 11}` };
          return answer(request, { encoder, headers, trailers });
        },
      ],
    }));
    const result = await load({ url: server.url, h2c: true, pid: false, ...options });
    await server.settled(1);
    assert.deepEqual(result.statusCodes, { 200: 480 });
    assertStreams(result, server);
    assertAllReceived(result, server);
  });
});

/** The frames of some bytes, each on its own. */
function splitFrames(bytes) {
  const frames = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    frames.push(bytes.subarray(at, end));
    at = end;
  }
  return frames;
}
