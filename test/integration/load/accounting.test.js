// What was sent is what arrived, and every request is accounted for: in all, per connection, to the byte.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import {
  assertAddsUp,
  assertAllReceived,
  assertSeenByServer,
} from '../../fixtures/truth/accounting.js';
import { millraceJson, startMillrace } from '../../fixtures/truth/cli.js';
import { forkedTruthServer } from '../../fixtures/truth/fork.js';
import { response } from '../../fixtures/truth/responses.js';
import { delay, hang, ok } from '../../fixtures/truth/scripts.js';
import { truthServer } from '../../fixtures/truth/server.js';
import { assertAtMost, assertBetween, timed } from '../../fixtures/truth/timed.js';

// Each has a server of its own, and waits for most of its time.
const TIMEOUT = { timeout: 60_000, concurrency: 3 };

/** Loads a server, and waits until it has seen all. */
async function run(server, options) {
  const result = await load({ url: server.url, ...options });
  await server.settled(result.connections.opened);
  return result;
}

describe('sent, arrived and accounted requests are equal', TIMEOUT, () => {
  const models = {
    'a closed run': { connections: 5 },
    'several threads': { connections: 7, threads: 3 },
    pipelining: { connections: 3, pipelining: 8 },
    'an open run': { rate: 2000, connections: 4 },
    'an open run that opens connections as needed': { rate: 1000 },
    'Connection: close': { connections: 3, connection: 'close' },
    'a POST with a body': { connections: 3, body: 'x'.repeat(5000) },
  };
  for (const [name, options] of Object.entries(models)) {
    test(`requests are accounted for to the last one: ${name}`, async (t) => {
      const server = await truthServer(t, delay(3));
      const result = await run(server, { ...options, requests: 301 });
      assert.equal(result.requests.ok, 301);
      assertSeenByServer(result, server);
      assertAllReceived(result, server);
    });

    timed(`${name}, to the end of its time`, async (t) => {
      const server = await truthServer(t, delay(3));
      const result = await run(server, { ...options, duration: 300 });
      assertSeenByServer(result, server);
      assertBetween(result.requests.ok, 51, Number.POSITIVE_INFINITY, 'requests');
    });
  }

  test('requests are accounted for if the server closes after every third response', async (t) => {
    const server = await truthServer(t, ({ position }) => ({
      parts: [response()],
      ending: position === 2 ? 'end' : undefined,
    }));
    const result = await run(server, { requests: 300, connections: 4, pipelining: 2 });
    assertSeenByServer(result, server);
    assert.equal(result.requests.sent, 300);
    assert.equal(result.requests.inFlightAtEnd, 0);
    // Nobody told the client: what it had sent by then is lost, and no more than that.
    const answered = server.requests.filter(({ answeredAt }) => answeredAt !== null).length;
    assert.ok(result.requests.ok <= answered);
    assert.ok(result.requests.ok >= 150, `${result.requests.ok} answered`);
    for (const { kind } of result.errors) assert.match(kind, /^(closed-early|reset)$/);
  });

  test('requests are accounted for if the server announces that it closes', async (t) => {
    const close = response('ok', { headers: ['Connection: close'] });
    const server = await truthServer(t, ({ position }) =>
      position === 2 ? { parts: [close], ending: 'end' } : response(),
    );
    const result = await run(server, { requests: 300, connections: 4 });
    assertSeenByServer(result, server);
    assertAllReceived(result, server);
    assert.equal(result.requests.ok, 300);
    assert.deepEqual(result.errors, []);
    assert.ok(result.connections.opened >= 100);
  });

  for (const ending of ['end', 'reset']) {
    test(`requests are accounted for if the server closes idle connections by ${ending}`, async (t) => {
      const server = await truthServer(t, () => ({ parts: [response(), ''], pause: 20, ending }));
      const result = await run(server, { requests: 4, connections: 2, thinkTime: 600 });
      assertSeenByServer(result, server);
      assertAllReceived(result, server);
      assert.equal(result.requests.ok, 4, 'no request met a closed connection');
      assert.equal(result.connections.opened, 4);
      assert.deepEqual(result.errors, []);
    });
  }

  test('requests are accounted for if none is answered', async (t) => {
    const server = await truthServer(t, hang());
    const result = await run(server, { connections: 3, pipelining: 2, duration: 300 });
    assertSeenByServer(result, server);
    assert.equal(result.requests.inFlightAtEnd, 6);
    assert.equal(result.requests.sent, 6);
  });

  test('requests are accounted for if connections are reset at random', async (t) => {
    const server = await truthServer(t, ({ index }) => ({
      parts: [response()],
      ending: index % 7 === 3 ? 'reset' : undefined,
    }));
    const result = await run(server, { requests: 500, connections: 5, threads: 2, pipelining: 3 });
    assertSeenByServer(result, server);
    assert.ok(result.requests.transportErrors > 0);
    assert.equal(result.requests.ok + result.requests.transportErrors, 500);
  });
});

test('bytes that the server never received are not counted as sent', TIMEOUT, async (t) => {
  // Its sockets are never read: the system takes some megabytes and no more.
  const server = net.createServer({ pauseOnConnect: true });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}/`;
  const body = Buffer.alloc(60_000_000, 'x');
  const result = await load({ url, body, connections: 1, duration: 300, placeholders: false });
  assertAddsUp(result);
  assert.equal(result.requests.inFlightAtEnd, 1);
  assert.ok(result.bytes.sent < body.length, `${result.bytes.sent} bytes`);
});

describe('a number of requests is exact', TIMEOUT, () => {
  for (const [requests, connections, threads] of [
    [1, 10, 1],
    [7, 3, 3],
    [101, 7, 4],
    [1003, 10, 3],
  ]) {
    test(`${requests} requests over ${connections} connections and ${threads} threads are exact`, async (t) => {
      const server = await truthServer(t, ok());
      const result = await run(server, { requests, connections, threads });
      assert.equal(result.requests.ok, requests);
      assertSeenByServer(result, server);
      const shares = result.generator.workers.map((worker) => worker.requests);
      assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, `shares ${shares}`);
    });
  }

  test('a number of requests is exact if the pipelining exceeds the rest', async (t) => {
    const server = await truthServer(t, ok());
    const result = await run(server, { requests: 10, connections: 3, pipelining: 16 });
    assert.equal(result.requests.ok, 10);
    assertSeenByServer(result, server);
  });

  test('a number of requests is exact in an open run', async (t) => {
    const server = await truthServer(t, ok());
    const result = await run(server, { requests: 123, rate: 1000, threads: 2 });
    assert.equal(result.requests.ok, 123);
    assertSeenByServer(result, server);
  });
});

describe('the warm-up is not part of the statistics', TIMEOUT, () => {
  timed('of a closed run', async (t) => {
    const server = await truthServer(t, delay(5));
    const result = await run(server, { connections: 4, warmup: 300, duration: 300 });
    assertSeenByServer(result, server);
    assertBetween(result.warmup.requests, 51, Number.POSITIVE_INFINITY, 'in the warm-up');
    assertBetween(result.requests.sent, 51, Number.POSITIVE_INFINITY, 'requests');
  });

  timed('of a run that ends by count', async (t) => {
    const server = await truthServer(t, delay(5));
    const result = await run(server, { connections: 4, threads: 2, warmup: 200, requests: 101 });
    assertSeenByServer(result, server);
    assert.equal(result.requests.ok, 101);
    assertBetween(result.warmup.requests, 21, Number.POSITIVE_INFINITY, 'in the warm-up');
  });

  timed('with what was slow or failed in it', async (t) => {
    const server = await truthServer(t, ({ index }) =>
      index < 20 ? { after: 250, parts: [response('no', { status: 500 })] } : response(),
    );
    const result = await run(server, { rate: 100, warmup: 400, duration: 400 });
    assertSeenByServer(result, server);
    assert.equal(result.warmup.requests, 40);
    const { sent, notSent } = result.requests;
    assert.equal(notSent.overflow, 0);
    assert.equal(sent + notSent.queuedAtEnd, 40);
    assert.deepEqual(Object.keys(result.statusCodes), ['200']);
    assertAtMost(result.latencyMs.max, 249, 'the slowest');
  });
});

describe('requests that were due but not sent are counted', TIMEOUT, () => {
  test('arrivals beyond maxPending and those that wait at the end are counted', async (t) => {
    const server = await truthServer(t, hang());
    const result = await run(server, { rate: 100, duration: 500, connections: 2, maxPending: 10 });
    assertSeenByServer(result, server);
    const { notSent, sent } = result.requests;
    assert.equal(sent, 2);
    assert.equal(notSent.queuedAtEnd, 8);
    assert.equal(notSent.overflow, 40);
    assert.ok(result.warnings.some(({ id }) => id === 'not-sent'));
  });
});

describe('a run that ends early', TIMEOUT, () => {
  test('Ctrl-C ends a run with the result so far', async (t) => {
    const server = await truthServer(t, delay(2));
    const args = ['--json', '-c', '3', '-d', '60', server.url];
    const { child, ended } = startMillrace(args);
    await server.arrived(50);
    child.kill('SIGINT');
    const { code, stdout } = await ended;
    const result = JSON.parse(stdout);
    await server.settled(result.connections.opened);
    assert.equal(code, 0);
    assert.equal(result.interrupted, true);
    assert.ok(result.requests.ok >= 40);
    assertSeenByServer(result, server);
  });

  test('a signal of the API ends a run with the result so far', async (t) => {
    const server = await truthServer(t, delay(2));
    const abort = new AbortController();
    const pending = run(server, { duration: '60s', signal: abort.signal });
    await server.arrived(50);
    abort.abort();
    const result = await pending;
    assert.equal(result.interrupted, true);
    assert.ok(result.durationMs < 10_000);
    assertSeenByServer(result, server);
  });

  test('a server that dies during a run ends it', async (t) => {
    const server = await forkedTruthServer(t, 'delay', [5]);
    const running = load({ url: server.url, connections: 4, duration: 800 });
    for await (const { phase, completed } of running) {
      if (phase === 'measure' && completed > 50) server.child.kill('SIGKILL');
    }
    const result = await running;
    assertAddsUp(result);
    assert.ok(result.requests.ok > 50);
    const kinds = result.errors.map(({ kind }) => kind);
    assert.ok(kinds.includes('connect-refused'), `kinds ${kinds}`);
    const { transportErrors } = result.requests;
    assert.ok(transportErrors <= result.connections.opened, 'what was in flight, once');
    assert.ok(result.connections.failed > 0);
  });
});

test('the printed JSON is valid by the schema', TIMEOUT, async (t) => {
  const server = await truthServer(t, ({ index }) =>
    index % 10 === 9 ? { parts: [], ending: 'reset' } : response(),
  );
  const args = ['-c', '3', '-R', '200', '-d', '500ms', server.url];
  const { result } = await millraceJson(args);
  await server.settled(result.connections.opened);
  assertSeenByServer(result, server);
  assert.ok(result.errors.length > 0);
});
