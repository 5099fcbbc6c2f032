// Clients of HTTP/2 that end their side of the connection behind their requests, as with HTTP/1.1: what is answered reaches them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { frames, PREFACE, request } from '../../../fixtures/stack/http2/raw-client.js';
import { connectRaw, serve, until } from '../../../fixtures/stack/http2/serve.js';

const { data, headers, settings } = frames;
const LIMIT = { timeout: 10_000 };
const BEGIN = [PREFACE, settings({})];

/** A request without content. */
const get = (stream, path) => headers(stream, request(path), { ends: true });

/** Everything that comes: the types of the frames of each stream, `*` where they end it. */
async function received(client) {
  await client.frame(() => false);
  const of = {};
  for (const frame of client.received) {
    const ends = ['DATA', 'HEADERS'].includes(frame.type) && frame.has('END_STREAM');
    if (frame.stream === 0) continue;
    of[frame.stream] ??= [];
    of[frame.stream].push(frame.type + (ends ? '*' : ''));
  }
  const goaway = client.received.find(({ type }) => type === 'GOAWAY');
  assert.equal(goaway?.error, 'NO_ERROR');
  return of;
}

/** Requests by path, with the events of both messages. Those of `/later` are answered when the server emits `go`. */
function application(server) {
  const seen = {};
  return [
    seen,
    (req, res) => {
      const events = [];
      seen[req.url] = events;
      req.on('error', () => {});
      for (const [name, message] of Object.entries({ req, res })) {
        for (const event of ['aborted', 'finish', 'close'])
          message.on(event, () => events.push(`${name} ${event}`));
      }
      if (req.url !== '/later' && req.method === 'GET') res.end('now');
      else server().once('go', () => res.end('later'));
    },
  ];
}

async function start(t, options = {}) {
  const [seen, listener] = application(() => server);
  const server = await serve(t, options, listener);
  return { server, seen };
}

const ANSWERED = ['HEADERS', 'DATA*'];

describe('a client that ends its side', LIMIT, () => {
  for (const secure of [false, true]) {
    test(`behind its requests gets their responses, ${secure ? 'TLS' : 'h2c'}`, async (t) => {
      const { server } = await start(t, { secure });
      const client = await connectRaw(server);
      client.socket.end(Buffer.concat([...BEGIN, get(1, '/one'), get(3, '/two')]));
      assert.deepEqual(await received(client), { 1: ANSWERED, 3: ANSWERED });
      await until(() => server.stats().connections.open === 0);
      assert.equal(server.stats().requests.inFlight, 0);
    });
  }

  test('does not get what is answered later, as with HTTP/1.1', async (t) => {
    const { server, seen } = await start(t);
    const client = await connectRaw(server);
    client.socket.end(Buffer.concat([...BEGIN, get(1, '/now'), get(3, '/later')]));
    assert.deepEqual(await received(client), { 1: ANSWERED, 3: ['RST_STREAM'] });
    assert.deepEqual(
      seen['/later'].filter((event) => event.startsWith('res')),
      ['res close'],
    );
  });

  test('gets it with httpAllowHalfOpen', async (t) => {
    const { server, seen } = await start(t);
    Object.assign(server, { httpAllowHalfOpen: true });
    const client = await connectRaw(server);
    client.socket.end(Buffer.concat([...BEGIN, get(1, '/now'), get(3, '/later')]));
    assert.ok(await client.frame(({ type }) => type === 'GOAWAY'));
    server.emit('go');
    assert.deepEqual(await received(client), { 1: ANSWERED, 3: ANSWERED });
    assert.ok(seen['/later'].includes('res finish'));
  });

  test('within a request has aborted that one', async (t) => {
    const { server, seen } = await start(t);
    const client = await connectRaw(server);
    const upload = headers(1, request('/upload', 'POST'));
    client.write(...BEGIN, upload, data(1, Buffer.from('part')));
    await until(() => seen['/upload']);
    client.socket.end(get(3, '/now'));
    assert.deepEqual(await received(client), { 1: ['RST_STREAM'], 3: ANSWERED });
    assert.ok(seen['/upload'].includes('req aborted'), seen['/upload']);
    assert.equal(server.stats().requests.inFlight, 0);
  });

  test('gets as much of a response as its windows allow', async (t) => {
    const server = await serve(t, {}, (_req, res) => res.end(Buffer.alloc(300_000)));
    const client = await connectRaw(server);
    const wide = frames.windowUpdate(0, 1_000_000);
    const streams = [get(1, '/'), frames.windowUpdate(1, 1_000_000), get(3, '/')];
    client.socket.end(Buffer.concat([...BEGIN, wide, ...streams]));
    const { 1: whole, 3: part } = await received(client);
    assert.equal(whole.at(-1), 'DATA*');
    assert.equal(part.at(-1), 'RST_STREAM');
    await until(() => server.stats().requests.inFlight === 0);
  });

  test('without a request is left at once', async (t) => {
    const { server } = await start(t);
    const client = await connectRaw(server);
    client.socket.end(Buffer.concat(BEGIN));
    assert.deepEqual(await received(client), {});
  });
});

test('a client that is gone takes all of its streams along', LIMIT, async (t) => {
  const { server, seen } = await start(t);
  Object.assign(server, { httpAllowHalfOpen: true });
  const client = await connectRaw(server);
  client.write(...BEGIN, get(1, '/later'), headers(3, request('/upload', 'POST')));
  await until(() => seen['/later'] && seen['/upload']);
  client.socket.destroy();
  await until(() => server.stats().connections.open === 0);
  await until(() => Object.values(seen).every((events) => events.includes('res close')));
  assert.equal(server.stats().requests.inFlight, 0);
});
