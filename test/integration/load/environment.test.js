// What the machine a run is on is like: its addresses, names, certificates and descriptors.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { load } from 'millrace';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { millrace, millraceJson } from '../../fixtures/truth/cli.js';

const TIMEOUT = { timeout: 60_000 };

/**
 * Listens until the test ends; what the server saw is in `requests`.
 *
 * @param {any} t
 * @param {any} address
 * @param {{ server?: any, answer?: (count: number, response: any) => void }} [options]
 */
async function listen(t, address, { server = createServer(), answer } = {}) {
  const requests = [];
  server.on('request', (request, response) => {
    requests.push(request);
    if (answer) answer(requests.length, response);
    else response.end('ok');
  });
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(address);
  await once(server, 'listening');
  return { requests, server, port: server.address().port };
}

async function hasIpv6() {
  const server = createServer().listen(0, '::1');
  return new Promise((resolve) => {
    server
      .on('error', () => resolve(false))
      .on('listening', () => server.close(() => resolve(true)));
  });
}

describe('addresses', TIMEOUT, () => {
  test('localhost is loaded where only ::1 listens, and the report names the address', async (t) => {
    if (!(await hasIpv6())) return t.skip('no IPv6');
    const { port, requests } = await listen(t, { port: 0, host: '::1' });
    const result = await load({ url: `http://localhost:${port}/`, connections: 3, requests: 30 });
    assert.equal(result.requests.ok, 30);
    assert.equal(requests.length, 30);
    assert.deepEqual(result.plan.addresses, [`[::1]:${port}`]);
    assert.match(result.warnings.map(({ message }) => message).join(), /127\.0\.0\.1/);
  });

  test('localhost where nobody listens is reported with the address that a user expects', async (t) => {
    const { port, server } = await listen(t, { port: 0, host: '127.0.0.1' });
    server.close();
    await once(server, 'close');
    const options = { url: `http://localhost:${port}/`, requests: 1 };
    await assert.rejects(load(options), ({ message }) =>
      message.endsWith(`127.0.0.1:${port}: connection refused`),
    );
  });

  test('of several addresses one that does not answer gives way to the others', async (t) => {
    const { port } = await listen(t, { port: 0, host: '127.0.0.1' });
    // Documentation addresses (RFC 5737): nobody answers there, or the network refuses them at once.
    const resolve = [`app.test:${port}:192.0.2.1,127.0.0.1`];
    const options = { url: `http://app.test:${port}/`, resolve, connections: 4, requests: 20 };
    const result = await load(options);
    assert.deepEqual(result.plan.addresses, [`127.0.0.1:${port}`]);
    assert.equal(result.connections.opened, 4);
    assert.ok(result.setupMs < 2000, `set-up took ${result.setupMs} ms`);
  });

  test('a name in the abstract namespace is a socket, and no password', {
    skip: process.platform !== 'linux',
  }, async (t) => {
    const name = `millrace-test-${process.pid}`;
    const { requests } = await listen(t, { path: `\0${name}` });
    for (const args of [[`unix:@${name}:/t`], ['-S', `@${name}`, 'http://app.test/t']]) {
      const { code, stdout } = await millrace(['-n', '2', '-c', '1', ...args]);
      assert.equal(code, 0);
      assert.ok(!stdout.includes('***@'), stdout);
    }
    assert.deepEqual(new Set(requests.map(({ url }) => url)), new Set(['/t']));
    const { code, stderr } = await millrace(['-n', '1', `unix:@${name}-none:/t`]);
    assert.equal(code, 3);
    assert.equal(stderr, `millrace: cannot connect to unix:@${name}-none: connection refused\n`);
  });
});

describe('NODE_EXTRA_CA_CERTS', TIMEOUT, () => {
  const withExtra = (path) => ['env', `NODE_EXTRA_CA_CERTS=${path}`];

  test('its authorities are trusted beside those of the system, not beside --ca', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'extra-ca-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const [own, other] = await Promise.all([1, 2].map(() => selfSignedCertificate(['localhost'])));
    const { port } = await listen(
      t,
      { port: 0, host: '127.0.0.1' },
      { server: https.createServer(own) },
    );
    const file = (name, text) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    // As many such files have it: text, and a block that is no certificate.
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    const extra = file('extra.pem', `the company's\r\n${broken}${own.cert}`);
    const args = ['-n', '4', '-c', '1', `https://localhost:${port}/`];
    const trusted = await millraceJson(args, { via: withExtra(extra) });
    assert.deepEqual([trusted.code, trusted.result.requests.ok], [0, 4]);
    assert.ok(!trusted.result.warnings.some(({ id }) => id === 'extra-authorities'));

    const ca = ['--ca', file('other.pem', other.cert)];
    const replaced = await millrace([...ca, ...args], { via: withExtra(extra) });
    assert.equal(replaced.code, 3, 'as with Node, named authorities replace all others');
    assert.equal((await millrace(args)).code, 3, 'without the variable');
  });

  test('a file that cannot be used is a warning', async (t) => {
    const identity = await selfSignedCertificate(['localhost']);
    const server = https.createServer(identity);
    const { port } = await listen(t, { port: 0, host: '127.0.0.1' }, { server });
    process.env.NODE_EXTRA_CA_CERTS = '/nonexistent.pem';
    t.after(() => delete process.env.NODE_EXTRA_CA_CERTS);
    const options = { url: `https://localhost:${port}/`, requests: 2, connections: 1 };
    const { warnings } = await load({ ...options, ca: identity.cert });
    assert.ok(!warnings.some(({ id }) => id === 'extra-authorities'), 'nobody needs it');
    await assert.rejects(load(options), /self-signed|trusted/);
  });
});

describe('few descriptors', { ...TIMEOUT, skip: process.platform !== 'linux' }, () => {
  const limited = (limit) => ['sh', '-c', `ulimit -n ${limit}; exec "$@"`, 'sh'];

  test('with too few for any run a line says what is needed', async () => {
    const { code, stderr } = await millrace(['http://127.0.0.1:1/'], { via: limited(30) });
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^millrace: the limit of open files is 30 \(ulimit -n\): at least \d+ .*\n$/,
    );
  });

  test('with as many as that line asks for every report is written', async (t) => {
    const { port } = await listen(t, { port: 0, host: '127.0.0.1' });
    const folder = mkdtempSync(join(tmpdir(), 'millrace-few-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const [url, file] = [`http://127.0.0.1:${port}/`, join(folder, 'result.json')];
    const load = ['-d', '200ms', '-c'];
    const serve = ["require('http').createServer((_, r) => r.end()).listen(0)"];
    for (const args of [
      [...load, '500', '-o', file, '--html', join(folder, 'page.html'), url],
      [...load, '5', '--json', url],
      [...load, '5', '--prometheus', '127.0.0.1:0', url],
      [...load, '5', '--', process.execPath, '-e', ...serve],
      ['report', file],
      ['report', file, '--markdown', '-'],
    ]) {
      const { code, stdout, stderr } = await millrace(args, { via: limited(80) });
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
      assert.match(stdout, /throughput/i);
    }
  });

  test('with fewer than connections the generator was the limit, and the need is named', async (t) => {
    const { port } = await listen(
      t,
      { port: 0, host: '127.0.0.1' },
      {
        answer: (_, response) => setTimeout(() => response.end('ok'), 20),
      },
    );
    const args = ['--strict', '-c', '200', '-d', '1s', `http://127.0.0.1:${port}/`];
    const { code, result } = await millraceJson(args, { via: limited(128) });
    assert.equal(code, 4);
    const { generator, connections, warnings } = result;
    assert.ok(connections.opened < 200);
    assert.match(generator.reasons[0], /^the limit of open files was reached: \d+ connections/);
    const { message } = warnings.find(({ id }) => id === 'errors-fd-limit');
    const [, needed, limit] = /this run needs (\d+), and (\d+) are allowed/.exec(message) ?? [];
    assert.equal(limit, '128');
    assert.ok(Number(needed) > 200, message);
  });
});

describe('servers that come and go', { ...TIMEOUT, concurrency: true }, () => {
  test('one that is away for a while does not end an open run', async (t) => {
    const first = await listen(t, { port: 0, host: '127.0.0.1' });
    const { port } = first;
    const run = load({ url: `http://127.0.0.1:${port}/`, rate: 100, duration: 2000, pid: false });
    for await (const { phase, elapsedMs } of run)
      if (phase === 'measure' && elapsedMs >= 500) break;
    first.server.close();
    first.server.closeAllConnections();
    for await (const { elapsedMs } of run) if (elapsedMs >= 1000) break;
    const second = await listen(t, { port, host: '127.0.0.1' });
    const { requests, warnings } = await run;
    assert.ok(requests.notSent.connectFailed > 10);
    assert.ok(second.requests.length > 10, 'it is loaded again');
    assert.ok(!warnings.some(({ id }) => id === 'rate-not-reached'), 'the rate was tried');
  });

  test('what was not sent counts for its name, in conditions too', async (t) => {
    const { port } = await listen(
      t,
      { port: 0, host: '127.0.0.1' },
      {
        answer: (count, response) => count <= 50 && response.end('ok'),
      },
    );
    const failOn = ['GET /a: p90<500ms', 'GET /b: p90<500ms', 'p90<500ms'];
    const url = ['a', 'b'].map((path) => `http://127.0.0.1:${port}/${path}`);
    const options = { url, rate: 100, connections: 1, duration: 1500, failOn };
    const result = await load(options);
    assert.deepEqual(
      result.conditions.map(({ holds }) => holds),
      [false, false, false],
    );
    const { notSent } = result.requests;
    assert.ok(notSent.queuedAtEnd > 50);
    const queued = result.byName.map(({ requests }) => requests.notSent.queuedAtEnd);
    assert.equal(queued[0] + queued[1], notSent.queuedAtEnd);
    assert.ok(Math.abs(queued[0] - queued[1]) <= 1, `${queued}`);
  });

  test('URLs of several servers are taken in turn, however slow one is', async (t) => {
    const fast = await listen(t, { port: 0, host: '127.0.0.1' });
    const slow = await listen(
      t,
      { port: 0, host: '127.0.0.1' },
      {
        answer: (_, response) => setTimeout(() => response.end('ok'), 30),
      },
    );
    const url = [fast, slow].map(({ port }) => `http://127.0.0.1:${port}/`);
    for (const threads of [1, 2]) {
      const before = [fast.requests.length, slow.requests.length];
      const result = await load({ url, threads, connections: 4, requests: 60 });
      assert.equal(result.requests.ok, 60);
      const sent = [fast.requests.length - before[0], slow.requests.length - before[1]];
      assert.equal(sent[0] + sent[1], 60);
      assert.ok(Math.abs(sent[0] - sent[1]) <= 4, `${sent}`);
    }
  });
});

test('a process that is stopped in a run says so', TIMEOUT, async (t) => {
  const { port } = await listen(
    t,
    { port: 0, host: '127.0.0.1' },
    {
      answer: (_, response) => setTimeout(() => response.end('ok'), 5),
    },
  );
  const code = `import { load } from 'millrace';
    const run = load({ url: 'http://127.0.0.1:${port}/', connections: 2, duration: 1500, pid: false });
    for await (const { phase, elapsedMs } of run) {
      if (phase === 'measure' && elapsedMs >= 300) { console.log('loading'); break; }
    }
    console.log(JSON.stringify(await run));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.on('data', (bytes) => {
    if (output === '') {
      child.kill('SIGSTOP');
      setTimeout(() => child.kill('SIGCONT'), 400);
    }
    output += bytes;
  });
  await once(child, 'close');
  const { generator, warnings, latencyMs } = JSON.parse(output.slice(output.indexOf('{')));
  const [longest] = generator.stalled.times.toSorted((a, b) => b.durationMs - a.durationMs);
  assert.ok(longest.durationMs > 250 && longest.durationMs < 1000, `${longest.durationMs} ms`);
  assert.ok(longest.atMs >= 300 && longest.atMs < 1500, `at ${longest.atMs} ms`);
  assert.ok(generator.stalled.samples >= 2, 'one on each connection');
  assert.ok(Math.abs(generator.stalled.maxMs - latencyMs.max) < 1);
  assert.match(
    warnings.map(({ message }) => message).join('\n'),
    /^The generator stood still for/m,
  );
});
