// What `await using` does at the end of its block, by the method that it calls: Node.js 20 and 22 do not know the syntax.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { capacity, compare, explain, lab, load, startTestServer } from 'millrace';
import { createClient } from 'millrace/client';

const limits = { timeout: 60_000 };
const dispose = (disposable) => disposable[Symbol.asyncDispose]();

test('a load that is disposed of ends, with the result so far', limits, async () => {
  const server = await startTestServer({ processes: 1 });
  const run = load({ url: server.url, duration: '1m' });
  for await (const { completed } of run) if (completed > 0) break;
  await dispose(run);
  const { interrupted, requests } = await run;
  assert.equal(interrupted, true);
  assert.ok(requests.ok > 0);
  await dispose(server);
  await server.exited;
  await assert.rejects(fetch(server.url));
});

test('runs that are disposed of at once reject, and nothing of them stays', limits, async () => {
  const command = [process.execPath, '-e', 'setInterval(() => {}, 1e6)'];
  const sides = { a: { command }, b: { command } };
  for (const run of [
    load({ command }),
    explain({ command }),
    capacity({ command, slo: 'p99<1s' }),
    compare(sides),
    lab({ study: 'pipe-vs-buffer', quick: true }),
  ]) {
    await dispose(run);
    await assert.rejects(run, { name: 'AbortError' });
  }
});

test('the signal of a run still ends it, and is let go of at its end', limits, async () => {
  await using(await startTestServer({ processes: 1 }), async ({ url }) => {
    const signal = new AbortController().signal;
    let listeners = 0;
    const count = (name, by) => {
      const method = signal[name];
      signal[name] = (...args) => {
        listeners += by;
        return method.apply(signal, args);
      };
    };
    count('addEventListener', 1);
    count('removeEventListener', -1);
    await load({ url, requests: 10, signal });
    assert.equal(listeners, 0);
    const abort = new AbortController();
    const run = load({ url, duration: '1m', signal: abort.signal });
    for await (const { completed } of run) if (completed > 0) abort.abort();
    assert.equal((await run).interrupted, true);
    const reason = new Error('not now');
    await assert.rejects(load({ url, signal: AbortSignal.abort(reason) }), reason);
    await assert.rejects(load({ url, signal: 7 }), /signal must be an AbortSignal/);
  });
});

test('a test server ends by its signal', limits, async () => {
  const abort = new AbortController();
  const server = await startTestServer({ processes: 1, signal: abort.signal });
  assert.equal((await fetch(server.url)).status, 200);
  abort.abort();
  await server.exited;
  const reason = new Error('never');
  await assert.rejects(startTestServer({ signal: AbortSignal.abort(reason) }), reason);
  const during = new AbortController();
  const starting = startTestServer({ processes: 1, signal: during.signal });
  during.abort(reason);
  await assert.rejects(starting, reason);
  await assert.rejects(startTestServer({ signal: 7 }), { code: 'ERR_MILLRACE_USAGE' });
});

test('a client that is disposed of waits for its calls', limits, async () => {
  let answer;
  const server = createServer((_, response) => {
    answer = () => response.end('late');
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const client = createClient({ origin: `http://127.0.0.1:${server.address().port}` });
  const call = client.request('/');
  while (!answer) await turn();
  let isDisposed = false;
  const disposed = dispose(client).then(() => {
    isDisposed = true;
  });
  await turn();
  assert.equal(isDisposed, false);
  answer();
  assert.equal(await (await call).text(), 'late');
  await disposed;
  await assert.rejects(client.request('/'));
  server.close();
});

/** A block with `await using`. */
async function using(disposable, block) {
  try {
    await block(disposable);
  } finally {
    await dispose(disposable);
  }
}
