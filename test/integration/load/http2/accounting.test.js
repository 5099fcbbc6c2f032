// What was sent is what arrived, and every stream is accounted for: in all, per connection, to the byte.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { assertAddsUp, sum } from '../../../fixtures/truth/accounting.js';
import { millraceJson, startMillrace } from '../../../fixtures/truth/cli.js';
import { forkedTruthServer } from '../../../fixtures/truth/fork.js';
import {
  assertAllReceived,
  assertKept,
  assertStreams,
  loadStreams,
} from '../../../fixtures/truth/http2/accounting.js';
import { answer } from '../../../fixtures/truth/http2/answers.js';
import { delay, hang, lastFirst, ok } from '../../../fixtures/truth/http2/scripts.js';
import { http2Server } from '../../../fixtures/truth/http2/server.js';
import { assertAtMost, assertBetween, timed } from '../../../fixtures/truth/timed.js';

// Each has a server of its own, and waits for most of its time.
const TIMEOUT = { timeout: 60_000, concurrency: 3 };

/** Loads a server, over HTTP/2 alone. */
async function run(server, options) {
  const result = await loadStreams(server, options);
  assert.equal(result.connections.http1, 0);
  assert.equal(result.connections.http2, result.connections.opened);
  return result;
}

describe('sent, arrived and accounted streams are equal', TIMEOUT, () => {
  const models = {
    'a closed run': { connections: 5 },
    'several threads': { connections: 7, threads: 3, pipelining: 2 },
    'eight streams at a time': { connections: 3, pipelining: 8 },
    'a hundred streams at a time': { connections: 1, pipelining: 100 },
    'an open run': { rate: 2000, connections: 2, pipelining: 10 },
    'an open run that opens connections as needed': { rate: 1000 },
    'a connection for each request': { connections: 3, connection: 'close' },
    'a POST with a body': { connections: 3, pipelining: 4, body: 'x'.repeat(5000) },
  };
  for (const [name, options] of Object.entries(models)) {
    test(`streams are accounted for to the last one: ${name}`, async (t) => {
      const server = await http2Server(t, delay(3));
      const result = await run(server, { ...options, requests: 301 });
      assert.equal(result.requests.ok, 301);
      assertAllReceived(result, server);
      assertDepth(server, options);
    });

    test(`streams are accounted for to the end of the time: ${name}`, async (t) => {
      const server = await http2Server(t, delay(3));
      const result = await run(server, { ...options, duration: 200 });
      assertDepth(server, options);
      assert.ok(result.requests.ok > 0);
    });
  }

  /** No connection had more streams than were asked for. */
  function assertDepth(server, { pipelining = 1 }) {
    for (const { record } of server.connections) assert.ok(record.mostOpen <= pipelining);
  }

  test('streams are accounted for over TLS', async (t) => {
    const tls = await selfSignedCertificate(['127.0.0.1']);
    const server = await http2Server(t, delay(3), { tls });
    const options = { h2c: false, http2: true, insecure: true };
    const result = await run(server, { ...options, requests: 301, connections: 3, pipelining: 5 });
    assert.equal(result.requests.ok, 301);
    assertAllReceived(result, server);
    for (const { alpn } of server.sessions) assert.equal(alpn, 'h2');
  });

  test('streams are accounted for if the last one is answered first', async (t) => {
    const server = await http2Server(t, lastFirst(2));
    const result = await run(server, { requests: 200, connections: 2, pipelining: 20 });
    assert.equal(result.requests.ok, 200);
    assertAllReceived(result, server);
  });

  test('streams are accounted for if the server closes after every third response', async (t) => {
    const server = await http2Server(t, (request) => ({
      parts: [answer(request)],
      ending: request.position === 2 ? 'end' : undefined,
    }));
    const result = await run(server, { requests: 300, connections: 4, pipelining: 2 });
    assert.equal(result.requests.sent, 300);
    assert.equal(result.requests.inFlightAtEnd, 0);
    // Nobody told the client: what it had sent by then is lost, and no more than that.
    const answered = server.requests.filter(({ answeredAt }) => answeredAt !== null).length;
    assert.ok(result.requests.ok <= answered);
    assert.ok(result.requests.ok >= 150, `${result.requests.ok} answered`);
    for (const { kind } of result.errors) assert.match(kind, /^(closed-early|reset)$/);
  });

  for (const ending of ['end', 'reset']) {
    test(`streams are accounted for if the server closes idle connections by ${ending}`, async (t) => {
      const server = await http2Server(t, (request) => ({
        parts: [answer(request), ''],
        pause: 20,
        ending,
      }));
      const result = await run(server, { requests: 4, connections: 2, thinkTime: 600 });
      assertAllReceived(result, server);
      assert.equal(result.requests.ok, 4, 'no request met a closed connection');
      assert.equal(result.connections.opened, 4);
      assert.deepEqual(result.errors, []);
    });
  }

  test('streams are accounted for if none is answered', async (t) => {
    const server = await http2Server(t, hang());
    const result = await run(server, { connections: 3, pipelining: 2, duration: 300 });
    assert.equal(result.requests.inFlightAtEnd, 6);
    assert.equal(result.requests.sent, 6);
  });

  test('streams are accounted for if connections are reset at random', async (t) => {
    const server = await http2Server(t, (request) => ({
      parts: [answer(request)],
      ending: request.index % 7 === 3 ? 'reset' : undefined,
    }));
    const result = await run(server, { requests: 500, connections: 5, threads: 2, pipelining: 3 });
    assert.ok(result.requests.transportErrors > 0);
    assert.equal(result.requests.ok + result.requests.transportErrors, 500);
  });
});

describe('a number of requests is exact', TIMEOUT, () => {
  for (const [requests, connections, threads, pipelining] of [
    [1, 10, 1, 10],
    [7, 3, 3, 1],
    [101, 7, 4, 3],
    [1003, 10, 3, 16],
  ]) {
    test(`${requests} requests over ${connections} connections of ${pipelining} streams and ${threads} threads are exact`, async (t) => {
      const server = await http2Server(t, ok());
      const result = await run(server, { requests, connections, threads, pipelining });
      assert.equal(result.requests.ok, requests);
      const shares = result.generator.workers.map((worker) => worker.requests);
      assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, `shares ${shares}`);
    });
  }

  test('a number of requests is exact in an open run', async (t) => {
    const server = await http2Server(t, ok());
    const result = await run(server, { requests: 123, rate: 1000, threads: 2, pipelining: 4 });
    assert.equal(result.requests.ok, 123);
  });
});

describe('the warm-up is not part of the statistics', TIMEOUT, () => {
  timed('of a closed run', async (t) => {
    const server = await http2Server(t, delay(5));
    const options = { connections: 2, pipelining: 2, warmup: 300, duration: 300 };
    const result = await run(server, options);
    assertBetween(result.warmup.requests, 51, Number.POSITIVE_INFINITY, 'in the warm-up');
    assertBetween(result.requests.sent, 51, Number.POSITIVE_INFINITY, 'requests');
  });

  timed('with what was slow or failed in it', async (t) => {
    const server = await http2Server(t, (request) =>
      request.index < 20
        ? { after: 250, parts: [answer(request, { status: 500 })] }
        : answer(request),
    );
    const options = { rate: 100, warmup: 400, duration: 400, connections: 1, pipelining: 40 };
    const result = await run(server, options);
    assert.equal(result.warmup.requests, 40);
    assert.equal(result.requests.sent + result.requests.notSent.queuedAtEnd, 40);
    assert.deepEqual(Object.keys(result.statusCodes), ['200']);
    assertAtMost(result.latencyMs.max, 249, 'the slowest');
  });
});

test(
  'arrivals beyond maxPending and those that wait for a stream at the end are counted',
  TIMEOUT,
  async (t) => {
    const server = await http2Server(t, hang());
    const options = { rate: 100, duration: 500, connections: 2, pipelining: 3, maxPending: 10 };
    const { requests } = await run(server, options);
    assert.equal(requests.sent, 6);
    assert.equal(requests.notSent.queuedAtEnd, 4);
    assert.equal(requests.notSent.overflow, 40);
  },
);

describe('a run that ends early', TIMEOUT, () => {
  test('Ctrl-C ends a run with the result so far', async (t) => {
    const server = await http2Server(t, delay(2));
    const args = ['--h2c', '--json', '-c', '3', '-p', '4', '-d', '60', server.url];
    const { child, ended } = startMillrace(args);
    await server.arrived(50);
    child.kill('SIGINT');
    const { code, stdout } = await ended;
    const result = JSON.parse(stdout);
    await server.settled(result.connections.opened);
    assert.equal(code, 0);
    assert.equal(result.interrupted, true);
    // All that arrived but those in flight.
    assert.ok(result.requests.ok >= 38);
    assertStreams(result, server);
  });

  test('a server that dies during a run ends it', async (t) => {
    const server = await forkedTruthServer(t, 'delay', [5], { http2: true });
    const options = { h2c: true, connections: 2, pipelining: 5, duration: 800 };
    const running = load({ url: server.url, ...options });
    for await (const { phase, completed } of running) {
      if (phase === 'measure' && completed > 50) server.child.kill('SIGKILL');
    }
    const result = await running;
    assertAddsUp(result);
    assert.ok(result.requests.ok > 50);
    const kinds = result.errors.map(({ kind }) => kind);
    assert.ok(kinds.includes('connect-refused'), `kinds ${kinds}`);
    const { transportErrors } = result.requests;
    assert.ok(transportErrors <= 5 * result.connections.opened, 'what was in flight, once');
    assert.ok(result.connections.failed > 0);
  });
});

test('the printed JSON is valid by the schema', TIMEOUT, async (t) => {
  const server = await http2Server(t, (request) =>
    request.index % 10 === 9 ? { parts: [], ending: 'reset' } : answer(request),
  );
  const args = ['--h2c', '-c', '3', '-p', '2', '-R', '200', '-d', '500ms', server.url];
  const { result } = await millraceJson(args);
  await server.settled(result.connections.opened);
  assertStreams(result, server);
  assert.ok(result.errors.length > 0);
  assert.equal(sum(result.errors.map(({ count }) => count)), result.requests.transportErrors);
  assertKept(server);
});
