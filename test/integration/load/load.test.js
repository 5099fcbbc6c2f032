// load(): a promise, an async iterable, a signal; and what of the options reaches the server.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { load, MillraceError, startTestServer } from 'millrace';

/** A server on a Unix socket that notes its requests; with the test it ends. */
async function notingServer(t) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-load-'));
  const socketPath = join(folder, 'server.sock');
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.end('ok');
  }).listen(socketPath);
  await once(server, 'listening');
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  return { folder, socketPath, requests };
}

async function testServer(t, options) {
  const server = await startTestServer({ processes: 1, ...options });
  t.after(() => server.close());
  return server;
}

test('each reader gets snapshots during the run, and the promise resolves afterwards', async (t) => {
  const { url } = await testServer(t, { delay: 1 });
  const run = load({ url, duration: 800, warmup: 200, connections: 2 });
  const read = async () => {
    const snapshots = [];
    for await (const snapshot of run) snapshots.push(snapshot);
    return snapshots;
  };
  const [snapshots, others, result] = await Promise.all([read(), read(), run]);
  assert.deepEqual(others, snapshots);
  assert.ok(snapshots.length >= 5, `${snapshots.length} of a second`);
  const phases = snapshots.map(({ phase }) => phase);
  assert.deepEqual(
    [...new Set(phases)],
    phases.includes('setup') ? ['setup', 'warmup', 'measure'] : ['warmup', 'measure'],
  );
  const last = snapshots.at(-1);
  assert.ok(last.completed > 0 && last.completed <= result.requests.ok);
  assert.ok(last.p50Ms > 0);
});

test('a signal ends the run, and the promise resolves with the result so far', async (t) => {
  const { url } = await testServer(t);
  const controller = new AbortController();
  const run = load({ url, duration: '60s', signal: controller.signal });
  for await (const { phase, completed } of run) {
    if (phase === 'measure' && completed > 0) controller.abort();
  }
  const result = await run;
  assert.equal(result.interrupted, true);
  assert.ok(result.requests.ok > 0);
  assert.ok(result.durationMs < 30_000);
});

test('a signal that is aborted before the run leaves no result', async () => {
  const reason = new Error('not now');
  const run = load({ url: 'http://127.0.0.1:1/', signal: AbortSignal.abort(reason) });
  await assert.rejects(run, reason);
});

test('a signal that is aborted in set-up leaves no result', async (t) => {
  // It accepts and never answers: the handshake goes on until its time is over.
  const silent = createNetServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const controller = new AbortController();
  const reason = new Error('enough');
  const { signal } = controller;
  const run = load({ url: `https://127.0.0.1:${silent.address().port}/`, connections: 1, signal });
  await assert.rejects(async () => {
    for await (const { phase } of run) {
      assert.equal(phase, 'setup');
      controller.abort(reason);
    }
  }, reason);
  await assert.rejects(run, reason);
});

test('a signal in the warm-up shortens the reported warm-up', async (t) => {
  const { url } = await testServer(t, { delay: 1 });
  const controller = new AbortController();
  const before = performance.now();
  const run = load({ url, duration: '60s', warmup: '60s', signal: controller.signal });
  let seenMs = 0;
  for await (const { phase, elapsedMs, completed } of run) {
    if (phase !== 'warmup' || elapsedMs < 200 || controller.signal.aborted) continue;
    assert.ok(completed > 0);
    seenMs = elapsedMs;
    controller.abort();
  }
  const { interrupted, warmup, requests, durationMs } = await run;
  assert.equal(interrupted, true);
  assert.equal(durationMs, 0);
  assert.equal(requests.sent, 0);
  assert.ok(warmup.requests > 0);
  const wholeMs = performance.now() - before;
  assert.ok(
    warmup.durationMs >= seenMs && warmup.durationMs <= wholeMs,
    `${warmup.durationMs} ms, not ${seenMs} to ${wholeMs}`,
  );
});

test('a warm-up that is not interrupted is as long as planned', async (t) => {
  const { url } = await testServer(t);
  const { warmup, interrupted } = await load({ url, duration: 50, warmup: 70 });
  assert.equal(warmup.durationMs, 70);
  assert.equal(interrupted, false);
});

const noProcfs = process.platform !== 'linux' && 'needs /proc';

test('a command that listens on two ports has a warning that names the loaded one', {
  skip: noProcfs,
}, async () => {
  const program = `
    const http = require('node:http');
    const server = () => http.createServer((_, response) => response.end());
    const first = server().listen(0, '127.0.0.1', () => server().listen(0, '127.0.0.1'));`;
  const run = load({ command: [process.execPath, '-e', program], duration: 300 });
  const { plan, warnings } = await run;
  const { message } = warnings.find(({ id }) => id === 'several-ports');
  const [, other] = /listens on port (\d+); the load went to 127\.0\.0\.1:\d+\./.exec(message);
  assert.ok(message.includes(`http://localhost:${other}/`));
  assert.ok(message.includes(plan.addresses[0]));
  assert.notEqual(plan.addresses[0], `127.0.0.1:${other}`);
});

test('the iteration throws the error of the promise', async () => {
  const run = load({ url: 'nope://x' });
  await assert.rejects(async () => {
    for await (const _ of run) assert.fail('no snapshot');
  }, MillraceError);
});

test('placeholders are replaced in URL, header and body', async (t) => {
  const { folder, socketPath, requests } = await notingServer(t);
  const csv = join(folder, 'names.csv');
  writeFileSync(csv, 'id,name\n7,"a, b"\n8,c\n');
  await load({
    url: `unix:${socketPath}:/{{seq}}?id={{csv:${csv}:id}}`,
    headers: { 'X-Name': `{{csv:${csv}:name}}`, 'X-Random': '{{random:5-5}}', 'X-Id': '{{uuid}}' },
    requests: 3,
    connections: 1,
  });
  assert.deepEqual(
    requests.map(({ url }) => url),
    ['/0?id=7', '/1?id=8', '/2?id=7'],
  );
  const [{ headers }] = requests;
  assert.equal(headers['x-name'], 'a, b');
  assert.equal(headers['x-random'], '5');
  assert.match(headers['x-id'], /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
});

test('text is sent unchanged with placeholders off', async (t) => {
  const { socketPath, requests } = await notingServer(t);
  await load({ url: `unix:${socketPath}:/{{seq}}{{x}}`, placeholders: false, requests: 1 });
  assert.equal(requests[0].url, '/{{seq}}{{x}}');
});

test("a socket path replaces the URL's host, which remains the Host header", async (t) => {
  const { socketPath, requests } = await notingServer(t);
  const result = await load({ url: 'http://example.test/a', socketPath, requests: 1 });
  assert.equal(result.requests.ok, 1);
  assert.equal(requests[0].headers.host, 'example.test');
  assert.equal(requests[0].url, '/a');
});

test('the server is found as the owner of its port, unless this is turned off', async (t) => {
  const server = await testServer(t, { delay: 1 });
  const found = await load({ url: server.url, duration: 400 });
  assert.equal(found.server.source, 'port-owner');
  assert.equal(found.server.pid, server.pid);
  assert.ok(found.server.series.every(({ tMs }) => tMs >= 0 && tMs <= found.durationMs + 300));
  const none = await load({ url: server.url, duration: 200, pid: false });
  assert.equal(none.server, undefined);
  const given = await load({ url: server.url, duration: 400, pid: server.pid });
  assert.equal(given.server.source, 'pid');
});

test('the CPU of the machine is reported', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const { url } = await testServer(t);
  const { machine } = await load({ url, connections: 2, duration: 500, warmup: 200 });
  const { wantedCores, stolenCores } = machine;
  // The kernel counts in ticks of 10 ms.
  assert.ok(wantedCores > 0.2 && wantedCores < 1.2 * cpus().length, `${wantedCores} cores`);
  assert.ok(stolenCores >= 0 && stolenCores <= wantedCores, `${stolenCores} cores`);
});

test('errors have codes for a refused connection and a missing command', async () => {
  const unreachable = load({ url: 'http://127.0.0.1:1/', duration: '1s' });
  await assert.rejects(unreachable, { code: 'ERR_MILLRACE_UNREACHABLE' });
  const command = load({ command: ['/no/such/program'] });
  await assert.rejects(command, { code: 'ERR_MILLRACE_COMMAND' });
});
