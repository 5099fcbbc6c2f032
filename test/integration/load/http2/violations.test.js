// What a server does wrong on purpose: it ends a stream or a connection, with one line that says what was wrong, and costs little.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import { millrace } from '../../../fixtures/truth/cli.js';
import {
  assertStreams,
  clientResets,
  countStreams,
  kinds,
} from '../../../fixtures/truth/http2/accounting.js';
import { answer, head } from '../../../fixtures/truth/http2/answers.js';
import { data, slices } from '../../../fixtures/truth/http2/frames.js';
import { http2Server } from '../../../fixtures/truth/http2/server.js';
import {
  BOMB_HEAD,
  FLOODS,
  OF_CONNECTIONS,
  OF_STREAMS,
  PATIENCE,
} from '../../../fixtures/truth/http2/violations.js';

const TIMEOUT = { timeout: 30_000, concurrency: 3 };

/** Loads a server whose every fifth answer on a connection is odd. */
async function run(t, odd, options) {
  const server = await http2Server(t, (request, connection) => {
    if (request.position % 5 !== 4) return answer(request);
    // Byte by byte, on every other connection.
    const bytes = odd(request, connection);
    const isSplit = connection.index % 2 === 1 && bytes.length < 1000;
    return { parts: [isSplit ? slices(bytes, 1) : bytes] };
  });
  const load_ = {
    h2c: true,
    pid: false,
    connections: 2,
    pipelining: 3,
    requests: 20,
    timeout: 5000,
  };
  const result = await load({ url: server.url, ...load_, ...options });
  await server.settled(result.connections.opened);
  assertStreams(result, server);
  return { server, result };
}

/** One line, for a person. */
function assertLine({ errors }, kind, reason) {
  const { example } = errors.find((error) => error.kind === kind);
  assert.match(example, reason);
  assert.match(example, /^[ -~]{5,150}$/);
}

describe('a response that breaks a rule of its stream', TIMEOUT, () => {
  for (const [name, [bytes, error, reason]] of Object.entries(OF_STREAMS)) {
    test(`ends the stream and spares the connection: ${name}`, async (t) => {
      const { server, result } = await run(t, bytes);
      const odd = countStreams(server, ({ position }) => position % 5 === 4);
      assert.deepEqual(kinds(result), { protocol: odd });
      assert.deepEqual(clientResets(server), { [error]: odd });
      assert.deepEqual(result.statusCodes, { 200: 20 - odd });
      assert.equal(result.connections.opened, 2);
      assertLine(result, 'protocol', reason);
    });
  }

  test('ends the stream in a HEAD that has content', async (t) => {
    const { result } = await run(t, (it) => answer(it), { method: 'HEAD', requests: 4 });
    assert.deepEqual(kinds(result), { protocol: 4 });
    assertLine(result, 'protocol', /content/);
  });

  test('is not seen if it comes behind the end of the stream', async (t) => {
    const late = ({ id }) => data(id, 'too late');
    const { result } = await run(t, (it) => Buffer.concat([answer(it), late(it), late(it)]));
    assert.deepEqual(result.statusCodes, { 200: 20 });
    assert.equal(result.connections.opened, 2);
  });
});

describe('what breaks a rule of the connection', TIMEOUT, () => {
  for (const [name, [bytes, error, reason]] of Object.entries(OF_CONNECTIONS)) {
    test(`ends it, and is the error of all its streams: ${name}`, async (t) => {
      const { server, result } = await run(t, bytes);
      assertEnded(server, result, error);
      assertLine(result, 'protocol', reason);
    });
  }

  /** Each connection has answered four, and then lost what was in flight. */
  function assertEnded(server, result, error) {
    assert.deepEqual(Object.keys(kinds(result)), ['protocol']);
    const { ok, transportErrors } = result.requests;
    assert.equal(ok + transportErrors, 20);
    assert.ok(result.connections.opened >= 3, `${result.connections.opened} opened`);
    assert.ok(transportErrors <= 3 * result.connections.opened);
    // The last connections had nothing to lose; what ends with unread bytes, ends by RST.
    const goaways = server.connections.flatMap(({ record }) => record.goaway ?? []);
    for (const goaway of goaways) assert.equal(goaway.error, error);
  }

  for (const [name, [bytes, error, reason]] of Object.entries(FLOODS)) {
    test(`bounds a flood: ${name}`, async (t) => {
      const before = process.memoryUsage().rss;
      const { server, result } = await run(t, bytes, { requests: 10, connections: 1 });
      assert.deepEqual(Object.keys(kinds(result)), ['protocol']);
      assertLine(result, 'protocol', reason);
      for (const { record } of server.connections) {
        assert.equal(record.goaway?.error ?? error, error);
      }
      const grown = process.memoryUsage().rss - before;
      assert.ok(grown < 100e6, `${grown} bytes more`);
    });
  }
});

describe('what a client has to bear', TIMEOUT, () => {
  test('a header bomb ends its stream', async (t) => {
    const before = process.memoryUsage().rss;
    const { result } = await run(t, BOMB_HEAD);
    assert.deepEqual(Object.keys(kinds(result)), ['protocol']);
    assert.equal(result.connections.opened, 2);
    assertLine(result, 'protocol', /large|256 KiB/);
    const grown = process.memoryUsage().rss - before;
    assert.ok(grown < 100e6, `${grown} bytes more`);
  });

  for (const [name, bytes] of Object.entries(PATIENCE)) {
    test(`many frames that carry nothing: ${name}`, async (t) => {
      const behind = name === 'empty DATA' ? (it) => data(it.id, '', { ends: true }) : answer;
      const odd = (it) => Buffer.concat([bytes(it), behind(it)]);
      const { result } = await run(t, odd, { requests: 10 });
      assert.deepEqual(result.statusCodes, { 200: 10 });
    });
  }

  test('a frame that never ends is ended by the time limit', async (t) => {
    const half = (it) => Buffer.concat([head(it), data(it.id, 'x'.repeat(100)).subarray(0, 50)]);
    const { result } = await run(t, half, { requests: 20, timeout: 100, connections: 1 });
    assert.ok(Object.keys(kinds(result)).includes('timeout'));
  });
});

test(
  'the command says what was wrong in one line, and ends with exit code 3',
  TIMEOUT,
  async (t) => {
    const [bytes] = OF_CONNECTIONS['an index that nothing has'];
    const server = await http2Server(t, bytes);
    const { code, stdout, stderr } = await millrace(['--h2c', '-n', '4', '-c', '1', server.url]);
    assert.equal(code, 3);
    assert.match(stdout, /a header block that cannot be decoded/);
    assert.equal(stderr, '');
  },
);
