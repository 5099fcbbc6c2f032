// The time from a response's first byte to its last, and the empty line that ends a server's wait for an acknowledgement.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { test } from 'node:test';
import { load } from 'millrace';
import { runLoad } from '../../dist/load/run.js';
import { forkedTruthServer } from './fork.js';
import { assertAtMost, assertBetween, timed } from './timed.js';

/** Has a server listen for the time of the test; gives its URL. */
async function listening(t, server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections?.();
  });
  return `http://127.0.0.1:${server.address().port}/`;
}

test('a response that comes at one go has no gap', async (t) => {
  const { url } = await forkedTruthServer(t, 'ok');
  const { gapMs, requests } = await load({ url, requests: 300, connections: 4, pid: false });
  assert.equal(requests.ok, 300);
  assert.deepEqual([gapMs.count, gapMs.censored, gapMs.p50], [0, 0, null]);
});

timed('a response that dribbles has at least the time of its pauses', async (t) => {
  const { url } = await forkedTruthServer(t, 'dribble', [{ chunks: 4, pauseMs: 20 }]);
  const { gapMs, serviceTimeMs } = await load({ url, requests: 20, connections: 4, pid: false });
  assert.deepEqual([gapMs.count, gapMs.censored], [20, 0]);
  // Five pauses; timers count in whole milliseconds, rounded down.
  assert.ok(gapMs.min >= 5 * 19, `${gapMs.min} ms`);
  assert.ok(gapMs.max <= serviceTimeMs.max, `${gapMs.max} > ${serviceTimeMs.max}`);
  assertAtMost(gapMs.p50, 200, 'p50');
});

test('a response that is late in the middle has its gap at its age', async (t) => {
  const { url } = await forkedTruthServer(t, 'dribble', [{ chunks: 1, pauseMs: 60_000 }]);
  const run = load({ url, requests: 2, connections: 2, timeout: 300, pid: false });
  const { gapMs, serviceTimeMs, requests } = await run;
  assert.equal(requests.timeouts, 2);
  assert.deepEqual([gapMs.count, gapMs.censored], [2, 2]);
  assert.ok(gapMs.max <= serviceTimeMs.max, `${gapMs.max} > ${serviceTimeMs.max}`);
});

// The delay of acknowledgements, 40 ms, is Linux's.
const linux = process.platform === 'linux' ? timed : (name) => test(name, { skip: 'needs Linux' });

linux("Nagle's algorithm against a delayed acknowledgement: a nudge ends the wait", async (t) => {
  // A response is two writes: head and content, and the last chunk.
  const server = createServer({ noDelay: false }, (request, response) => request.pipe(response));
  const url = await listening(t, server);
  const options = { url, body: '0123456789', requests: 80, connections: 2, pid: false };
  const { result: waiting } = await runLoad(options);
  const { result: nudged } = await runLoad(options, { nudge: true });
  for (const { requests, errors } of [waiting, nudged]) {
    assert.deepEqual([requests.ok, errors], [80, []]);
  }
  assert.equal(nudged.bytes.sent - waiting.bytes.sent, 2 * nudged.gapMs.count);
  assertBetween(waiting.gapMs.p50, 30, 100, 'p50 of the gap');
  assertAtMost(nudged.gapMs.p50, 10, 'p50 with the nudge');
});

test('a server that does not ignore an empty line: its answer shows', async (t) => {
  const server = createNetServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      const begun = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n';
      const refused = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n';
      if (bytes.toString('latin1') === '\r\n') socket.end(`hi${refused}`);
      else socket.write(begun);
    });
  });
  const url = await listening(t, server);
  const options = { url, requests: 3, connections: 1, pid: false };
  const { result } = await runLoad(options, { nudge: true });
  assert.equal(result.requests.ok, 3);
  assert.equal(result.connections.broken, 3);
  assert.deepEqual(
    result.errors.map(({ kind, count }) => [kind, count]),
    [['protocol', 3]],
  );
});

test('no nudge where connections are not kept', async () => {
  const options = { url: 'http://127.0.0.1:1/', connection: 'close', duration: 100 };
  await assert.rejects(runLoad(options, { nudge: true }), {
    code: 'ERR_MILLRACE_USAGE',
    message: 'empty lines between requests need connections that are kept',
  });
});

test('a nudge is no option of load()', async () => {
  const run = load({ url: 'http://127.0.0.1:1/', nudge: true });
  await assert.rejects(run, { code: 'ERR_MILLRACE_USAGE', message: /nudge/ });
});

test('when the measurement was, by performance.now()', async (t) => {
  const { url } = await forkedTruthServer(t, 'ok');
  const before = performance.now();
  const run = runLoad({ url, duration: 200, warmup: 100, pid: false });
  const { result, fromMs, toMs } = await run;
  assert.ok(fromMs >= before + 100, `${fromMs} < ${before} + 100`);
  assert.ok(toMs <= performance.now());
  assert.ok(Math.abs(toMs - fromMs - result.durationMs) < 0.001);
  assert.equal(result.server, undefined);
});
