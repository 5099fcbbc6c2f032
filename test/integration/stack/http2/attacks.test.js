// Clients of HTTP/2 that mean harm, and a good one beside them, which is served all the same. What costs the protocol alone is
// attacked in crates/stack/tests/integration/http2: here the application takes part.

import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import http from '#internal/http/index.js';
import { frames, PREFACE, RawClient, request } from '../../../fixtures/stack/http2/raw-client.js';
import { listen } from '../../../fixtures/stack/listen.js';

const { data, headers, rstStream, settings, windowUpdate } = frames;

/** Requests of the good client, one after the other, and how long each may take. */
const PACED = 20;
const EACH_MS = 1_000;
/** Streams that may be open at once, and those that may be reset. */
const MOST_ASKED = 100 + 1001;

const LIMIT = { timeout: 15_000 };
const LIMITS = { connectionsCheckingInterval: 50, headersTimeout: 300, requestTimeout: 300 };

/** A server of h2c, which counts what it is asked and what of it was closed. */
async function serve(t, options = {}) {
  const counts = { asked: 0, closed: 0, waiting: 0 };
  const server = http.createServer({ http2: true, ...options }, (req, res) => {
    if (req.url === '/good') return res.end('good');
    counts.asked++;
    res.on('close', () => counts.closed++);
    req.on('error', () => {});
    if (req.url === '/large') {
      res.end(Buffer.alloc(1_000_000));
      counts.waiting += res.writableLength;
    }
    if (req.url === '/upload') req.resume().on('end', () => res.end());
  });
  return { counts, port: await listen(t, server) };
}

/** How many of the good client's requests are answered in time. */
async function served(port) {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  let good = 0;
  for (let at = 0; at < PACED; at++) {
    const stream = session.request({ ':path': '/good' });
    const timer = setTimeout(() => stream.close(), EACH_MS);
    const text = await stream
      .setEncoding('utf8')
      .toArray()
      .catch(() => []);
    clearTimeout(timer);
    if (text.join('') === 'good') good++;
  }
  session.close();
  return good;
}

/** The good client beside `attack`, which is served as it is alone. */
async function beside(port, attack) {
  const alone = await served(port);
  assert.equal(alone, PACED);
  const [good] = await Promise.all([served(port), attack]);
  assert.ok(good >= 0.95 * alone, `${good} of ${alone} served`);
}

const isCalm = (frame) => frame.type === 'GOAWAY' && frame.error === 'ENHANCE_YOUR_CALM';

/** Opens streams that wait, twenty at once, which `reset` ends; the server then closes the connection. */
async function openAndReset(t, reset) {
  const { counts, port } = await serve(t);
  const block = request('/hold');
  const attack = async () => {
    const client = await RawClient.connect({ port });
    for (let stream = 1; stream < 8_000 && !client.isClosed; stream += 40) {
      const each = Array.from({ length: 20 }, (_, at) => stream + 2 * at);
      await reset(client, each, (id) => headers(id, block, { ends: true }));
    }
    assert.ok(await client.frame(isCalm));
    client.socket.destroy();
  };
  await beside(port, attack());
  assert.ok(counts.asked <= MOST_ASKED, `${counts.asked} requests`);
  while (counts.closed < counts.asked) await sleep(1);
}

test(
  'streams that are opened and reset: few reach the application, and each is closed',
  LIMIT,
  (t) =>
    openAndReset(t, async (client, streams, open) => {
      client.write(...streams.flatMap((id) => [open(id), rstStream(id, 'CANCEL')]));
      // In another turn: the application has seen them.
      await sleep(1);
    }),
);

test('streams that the server has to reset count as those that the client resets', LIMIT, (t) =>
  openAndReset(t, async (client, streams, open) => {
    client.write(...streams.map(open));
    await sleep(1);
    client.write(...streams.map((id) => windowUpdate(id, 0)));
  }),
);

test(
  'requests that never end are ended by requestTimeout, heads and prefaces that never end by headersTimeout',
  LIMIT,
  async (t) => {
    const { port } = await serve(t, LIMITS);
    const attack = async () => {
      const uploading = await RawClient.connect({ port });
      const block = request('/upload', 'POST');
      for (let stream = 1; stream < 200; stream += 2) uploading.write(headers(stream, block));
      uploading.write(data(1, 'x'));
      const partial = await RawClient.connect({ port });
      partial.write(headers(1, request('/hold')).subarray(0, 12));
      const slow = await RawClient.silent({ port });
      const silent = await RawClient.silent({ port });
      const unsettled = await RawClient.silent({ port });
      unsettled.write(PREFACE);
      for (const byte of PREFACE) {
        if (slow.isClosed) break;
        slow.write(Buffer.of(byte));
        await sleep(30);
      }
      for (const client of [partial, slow, silent, unsettled]) {
        await client.frame(() => false);
        assert.ok(client.isClosed);
      }
      for (let stream = 1; stream < 200; stream += 2) {
        const ends = (it) =>
          it.stream === stream && (it.type === 'RST_STREAM' || it.has('END_STREAM'));
        assert.ok(await uploading.frame(ends), `stream ${stream}`);
      }
      uploading.socket.destroy();
    };
    await beside(port, attack());
  },
);

test(
  'responses that a client does not take wait for it, and are closed with it',
  LIMIT,
  async (t) => {
    const { counts, port } = await serve(t);
    const attack = async () => {
      const client = await RawClient.connect({ port }, { INITIAL_WINDOW_SIZE: 0 });
      const block = request('/large');
      for (let stream = 1; stream < 40; stream += 2) {
        client.write(headers(stream, block, { ends: true }));
      }
      // A byte for each of them, again and again.
      for (let round = 0; round < 20; round++) {
        for (let stream = 1; stream < 40; stream += 2) client.write(windowUpdate(stream, 1));
        await sleep(1);
      }
      while (counts.asked < 20) await sleep(1);
      assert.ok(counts.waiting >= 20 * 900_000, `${counts.waiting} bytes wait`);
      assert.equal(counts.closed, 0);
      const content = () => client.received.filter((it) => it.type === 'DATA');
      const bytes = () => content().reduce((sum, it) => sum + it.payload.length, 0);
      while (bytes() < 20 * 20) await sleep(1);
      assert.equal(bytes(), 20 * 20);
      client.socket.destroy();
    };
    await beside(port, attack());
    while (counts.closed < 20) await sleep(1);
  },
);

test('settings that nobody needs, from a client that reads nothing', LIMIT, async (t) => {
  const { port } = await serve(t);
  const attack = async () => {
    const client = await RawClient.connect({ port });
    client.socket.pause();
    const many = Buffer.concat(Array.from({ length: 1000 }, () => settings({})));
    for (let round = 0; round < 20 && !client.isClosed; round++) {
      client.write(many);
      await sleep(2);
    }
    client.socket.resume();
    assert.ok((await client.frame(isCalm)) || client.isClosed);
    client.socket.destroy();
  };
  await beside(port, attack());
});

test('a head that is too large is answered, and the next request is served', LIMIT, async (t) => {
  const { port } = await serve(t);
  const client = await RawClient.connect({ port });
  const large = request('/good', 'GET', [['x', 'y'.repeat(70_000)]]);
  const many = request(
    '/good',
    'GET',
    Array.from({ length: 3_000 }, () => ['x', '']),
  );
  client.write(headers(1, large, { ends: true, fragment: 16_000 }));
  client.write(headers(3, many, { ends: true, fragment: 16_000 }));
  client.write(headers(5, request('/good'), { ends: true }));
  for (const stream of [1, 3, 5]) {
    const ended = await client.frame((it) => it.stream === stream && it.has('END_STREAM'));
    assert.equal(ended?.type, stream === 5 ? 'DATA' : 'HEADERS');
  }
  client.socket.destroy();
});
