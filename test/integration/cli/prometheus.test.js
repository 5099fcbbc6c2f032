// `--prometheus`: the running figures are served while a load runs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
let server;
let url;

before(async () => {
  server = createServer((_, response) => response.end('ok'));
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${server.address().port}/`;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

/** Starts a load; `ended` resolves with its exit code and what it wrote. */
function start(args) {
  const child = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  const ended = new Promise((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  /** The URL of the metrics, once it is printed. */
  const endpoint = new Promise((resolve, reject) => {
    child.stderr.on('data', () => {
      const [, found] = /^metrics: (\S+)$/m.exec(stderr) ?? [];
      if (found) resolve(found);
    });
    child.on('close', () => reject(new Error(`ended before the metrics were served: ${stderr}`)));
  });
  endpoint.catch(() => {});
  return { child, ended, endpoint };
}

/** Reads the samples of the metrics: by name with labels, the value. */
async function scrape(endpoint) {
  const response = await fetch(endpoint);
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const lines = (await response.text()).split('\n').filter((line) => /^[^#]/.test(line));
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' '))),
    ]),
  );
}

test('counters and buckets of each name grow while the load runs, and the endpoint ends with it', async () => {
  const names = [`${url}users/17`, `${url}items`];
  const { child, ended, endpoint } = start([
    '-d',
    '60s',
    '-c',
    '2',
    ...names,
    '--prometheus',
    '127.0.0.1:0',
  ]);
  const metrics = await endpoint;
  const sent = 'millrace_requests_sent_total{name="GET /users/:id"}';
  let seen = new Map();
  while (!(seen.get(sent) > 100)) seen = await scrape(metrics);
  const first = seen.get(sent);
  while (!(seen.get(sent) > first)) seen = await scrape(metrics);
  for (const name of ['GET /users/:id', 'GET /items']) {
    const of = (metric, labels = '') => seen.get(`${metric}{name="${name}"${labels}}`);
    const count = of('millrace_request_duration_seconds_count');
    assert.ok(count > 0);
    assert.equal(of('millrace_requests_total', ',outcome="ok"'), count);
    assert.equal(of('millrace_request_duration_seconds_bucket', ',le="+Inf"'), count);
    const buckets = [...seen].filter(([key]) =>
      key.startsWith(`millrace_request_duration_seconds_bucket{name="${name}"`),
    );
    assert.equal(buckets.length, 17);
    for (let index = 1; index < buckets.length; index++)
      assert.ok(buckets[index][1] >= buckets[index - 1][1]);
  }
  assert.equal((await fetch(new URL('/', metrics))).status, 404);
  assert.equal((await fetch(metrics, { method: 'POST' })).status, 405);
  child.kill('SIGINT');
  const { code, stdout } = await ended;
  assert.equal(code, 0);
  assert.match(stdout, /^throughput/m);
  await assert.rejects(fetch(metrics));
});

test('a port that is taken is one line, and nothing is loaded', async () => {
  const { host } = new URL(url);
  const { code, stdout, stderr } = await start(['-n', '5', url, '--prometheus', host]).ended;
  const line = `millrace: --prometheus cannot listen on ${host}: it is in use\n`;
  assert.deepEqual({ code, stdout, stderr }, { code: 2, stdout: '', stderr: line });
});

test('what is no address and port is refused', async () => {
  for (const value of ['9464', ':9464', 'http://127.0.0.1:9464', '127.0.0.1:99999', '::1:80']) {
    const { code, stderr } = await start(['-n', '5', url, '--prometheus', value]).ended;
    const line = `millrace: --prometheus must be an address and a port, such as 127.0.0.1:9464 (got ${value})\n`;
    assert.deepEqual({ code, stderr }, { code: 2, stderr: line });
  }
});
