// Timeouts of the application take precedence, and calls that are meant to last are not limited.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { mute, web } from '../../fixtures/deadlines/peers.js';
import { run } from '../../fixtures/deadlines/program.js';
import { service } from '../../fixtures/deadlines/service.js';

const limits = { timeout: 30_000 };
const url = ({ port }) => `http://127.0.0.1:${port}/`;
const short = { MILLRACE_DEADLINE_TOTAL: '200ms', MILLRACE_DEADLINE_CONNECT: '200ms' };
/** For calls that are to succeed: their peer is this process, which a busy machine may delay. */
const patient = { MILLRACE_DEADLINE_TOTAL: '1000ms', MILLRACE_DEADLINE_CONNECT: '1000ms' };
/** Longer than all of these limits. */
const LONG_MS = 1500;

/** Answers after `ms` milliseconds. */
const late = (t, ms) =>
  web(t, (request, response) => {
    request.resume();
    setTimeout(() => response.end('late'), ms);
  });

// The tests wait most of the time.
describe('timeouts of the application, and calls that are meant to last', {
  concurrency: 4,
}, () => {
  test(
    'timeouts of the application fire first, and longer ones replace the limits',
    limits,
    async (t) => {
      const { call, stats } = service(t, short);
      const [never, slow] = [await mute(t), await late(t, 500)];
      const own = await call('http', { port: never.port, onTimeout: 400 });
      assert.equal(own.error.message, 'my own');
      assert.equal((await call('http', { port: slow.port, onTimeout: 5000 })).value, 'late');
      assert.equal((await call('signalled', { port: slow.port, ms: 5000 })).value, 'late');
      assert.equal((await call('fetch', { url: url(slow), ms: 5000 })).value, 'late');
      assert.equal((await call('undici', { url: url(slow), ms: 5000 })).value, 'late');
      assert.equal((await call('undici', { url: url(slow), headersTimeout: 5000 })).value, 'late');
      const bySignal = await call('fetch', { url: url(never), ms: 400 });
      assert.equal(bySignal.error.name, 'TimeoutError');
      const byUndici = await call('undici', { url: url(never), ms: 400 });
      assert.equal(byUndici.error.name, 'TimeoutError');
      assert.equal((await stats()).hits.total, 0);
      // The call after one with a signal has no signal.
      assert.equal((await call('fetch', { url: url(slow) })).error.limit, 'total');
    },
  );

  test(
    'the signal of AbortSignal.timeout limits its own call, whenever the library adds its listener',
    limits,
    async (t) => {
      const { call, stats } = service(t, short);
      const { port } = await late(t, 500);
      const peer = { port, url: url({ port }), ms: 5000 };
      assert.equal((await call('listensFirst', peer)).value, 'late');
      const then = await call('listensThen', peer);
      assert.deepEqual(then.value, [200, 'total'], then.error?.message);
      const second = await call('secondHas', peer);
      assert.deepEqual(second.value, ['total', 200], second.error?.message);
      assert.equal((await stats()).hits.total, 2);
    },
  );

  test('a combined signal has the timeout of its parts', limits, async (t) => {
    const { call } = service(t, short);
    const { port } = await late(t, 500);
    const { value, error } = await call('anySignalled', { port, url: url({ port }), ms: 5000 });
    assert.deepEqual(value, ['late', 'late', 'late', 'total'], error?.message);
  });

  test('the signal of a call of millrace/client applies to no other call', limits, async (t) => {
    const { call } = service(t, short);
    const { value, error } = await call('besideClient', { url: url(await late(t, 500)), ms: 5000 });
    assert.deepEqual(value, [200, 'total'], error?.message);
  });

  test('calls of millrace/client have only the limits of their client', limits, async (t) => {
    const { call } = service(t, short);
    const slow = await web(t, (_request, response) => {
      let left = 16;
      const timer = setInterval(() => {
        left -= 1;
        if (left > 0) response.write('x');
        else response.end('x');
      }, 100);
      response.on('close', () => clearInterval(timer));
    });
    const { value, error } = await call('byClient', { url: url(slow) });
    assert.equal(value, 'x'.repeat(16), error?.message);
  });

  test('a redirect keeps the signal of its call', limits, async (t) => {
    const { call } = service(t, short);
    const peer = await web(t, (request, response) => {
      if (request.url === '/late') setTimeout(() => response.end('late'), 500);
      else response.writeHead(302, { Location: request.url === '/' ? '/next' : 'late' }).end();
    });
    const there = { url: url(peer), ms: 5000 };
    assert.equal((await call('fetch', there)).value, 'late');
    // Only that call.
    const { error } = await call('fetch', { url: `${url(peer)}late` });
    assert.equal(error.limit, 'total');
  });

  test('a timeout without a listener does not replace the limits', limits, async (t) => {
    const { call } = service(t, short);
    const { port } = await mute(t);
    const { error } = await call('http', { port, timeout: 5000 });
    assert.deepEqual([error.limit, error.limitMs], ['total', 200]);
  });

  test('an application may read and write at its own pace', limits, async (t) => {
    const { call } = service(t, { ...patient, MILLRACE_DEADLINE_IDLE: '500ms' });
    const size = 4_000_000;
    const large = await web(t, (_request, response) => response.end(Buffer.alloc(size)));
    assert.equal((await call('slowReader', { port: large.port, ms: LONG_MS })).value, size);
    assert.equal((await call('slowFetchReader', { url: url(large), ms: LONG_MS })).value, size);
    const taking = await web(t, (request, response) => {
      request.resume().on('end', () => response.end('taken'));
    });
    assert.equal((await call('slowWriter', { port: taking.port, ms: LONG_MS })).value, 'sent');
    assert.equal((await call('slowExpecter', { port: taking.port, ms: LONG_MS })).value, 'sent');
    // Until `100 Continue` the call waits for its peer.
    const never = await mute(t);
    assert.equal((await call('slowExpecter', { port: never.port, ms: 0 })).error.limit, 'total');
    assert.equal((await call('slowFetchWriter', { url: url(taking), ms: LONG_MS })).value, 'taken');
  });

  test('a body of undici that is not read yet is not idle', limits, async (t) => {
    const { call } = service(t, { ...patient, MILLRACE_DEADLINE_HOSTS: 'localhost=off' });
    let unread;
    const peer = await web(t, (request, response) => {
      if (request.url === '/') {
        response.write('one ');
        unread = response;
        return;
      }
      setTimeout(() => {
        unread.end('two');
        response.end();
      }, LONG_MS);
    });
    const restAt = `http://localhost:${peer.port}/rest`;
    const { value, error } = await call('slowUndiciReader', { url: url(peer), restAt });
    assert.equal(value, 'one two', error?.message);
  });

  test('event streams are not limited', limits, async (t) => {
    const { call } = service(t, patient);
    const source = await web(t, (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const timer = setInterval(() => response.write('data: x\n\n'), LONG_MS);
      response.write('data: x\n\n');
      response.on('close', () => clearInterval(timer));
    });
    assert.equal((await call('events', { url: url(source), count: 2 })).value, 2);
    assert.equal((await call('eventsByHttp', { port: source.port, count: 2 })).value, 2);
  });

  test('upgraded and raw connections are not limited', limits, async (t) => {
    const { call, stats } = service(t, patient);
    const echo = await web(t, () => {});
    echo.server.on('upgrade', (_request, socket) => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n',
      );
      socket.pipe(socket);
    });
    assert.equal((await call('upgrade', { port: echo.port, ms: LONG_MS })).value, 'hello');
    for (const version of [5, 6, 7]) {
      const upgraded = await call('undiciUpgrade', { url: url(echo), ms: LONG_MS, version });
      assert.equal(upgraded.value, 'hello', `undici ${version}`);
    }
    const raw = await mute(t);
    raw.server.on('connection', (socket) => socket.pipe(socket));
    assert.equal((await call('quietSocket', { port: raw.port, ms: LONG_MS })).value, 'hello');
    const { inFlight, hits } = await stats();
    assert.equal(inFlight, 0);
    assert.deepEqual(Object.values(hits), [0, 0, 0, 0, 0]);
  });

  test('a response that arrives while the event loop is blocked is in time', limits, async (t) => {
    const { call } = service(t, { MILLRACE_DEADLINE_HEADERS: '1000ms' });
    const quick = await late(t, 500);
    assert.equal((await call('busy', { url: url(quick), ms: 2000 })).value, 'late');
  });

  test('time for which the event loop is blocked does not count', limits, async (t) => {
    const { call, stats } = service(t, patient);
    const peer = await web(t, (_request, response) => response.end('answer'));
    const { value, error } = await call('busyAtOnce', { port: peer.port, ms: 2000 });
    assert.deepEqual(value, ['answer', 'answer'], error?.message);
    assert.deepEqual(Object.values((await stats()).hits), [0, 0, 0, 0, 0]);
  });

  test('a request without a socket is ended, too, and once', limits, async (t) => {
    const { call, stats } = service(t, { MILLRACE_DEADLINE_TOTAL: '500ms' });
    const peer = await web(t, (request, response) => {
      if (request.url !== '/events') return response.end('answer');
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      return response.write('data: x\n\n');
    });
    const { value, error } = await call('withoutSocket', { port: peer.port });
    const ended = ['total', 'close'];
    assert.deepEqual(
      value,
      { byConnection: ended, byAgent: ended, queued: ended, left: [], next: 'answer' },
      error?.message,
    );
    const { inFlight, hits } = await stats();
    assert.deepEqual([inFlight, hits.total], [0, 3]);
  });

  test('errors are emitted in the asynchronous context of their call', limits, async (t) => {
    const { call } = service(t, short);
    const { port } = await mute(t);
    assert.deepEqual((await call('contexts', { port })).value, ['a', 'b', 'c']);
  });

  test('the diagnostics channels report limits and calls', limits, async (t) => {
    const { call } = service(t, short);
    const { port } = await mute(t);
    const { hit, end } = (await call('channels', { port })).value;
    assert.ok(hit.elapsedMs >= 199);
    const whose = { host: '127.0.0.1', by: 'http', limit: 'total' };
    assert.deepEqual(
      { ...hit, elapsedMs: 0 },
      { ...whose, limitMs: 200, code: 'ETIMEDOUT', elapsedMs: 0 },
    );
    assert.deepEqual({ ...end, elapsedMs: 0 }, { ...whose, elapsedMs: 0 });
  });

  test('the timer of deadlines does not keep a process alive', limits, async (t) => {
    const { port } = await mute(t);
    const { stdout } = await run(
      `import http from 'node:http';
    http.get({ host: '127.0.0.1', port: ${port} }).on('error', () => {}).on('socket', () => {
      console.log(process.getActiveResourcesInfo().includes('Timeout'));
      process.exit();
    });`,
    );
    assert.equal(stdout, 'false\n');
  });

  test('a process ends when it has nothing to do, and not before', limits, async (t) => {
    const peer = await late(t, 100);
    const { stdout, code } = await run(
      `const since = performance.now();
    process.on('exit', () => console.log(performance.now() - since < 2500));
    console.log(await (await fetch('${url(peer)}', { headers: { connection: 'close' } })).text());`,
      { MILLRACE_DEADLINE_TOTAL: '20s' },
    );
    assert.deepEqual({ stdout, code }, { stdout: 'late\ntrue\n', code: 0 });
  });

  test('each worker thread has limits, and counts its own calls', limits, async (t) => {
    const peer = await mute(t);
    const { stdout } = await run(
      `import { Worker } from 'node:worker_threads';
    import { stats } from 'millrace/deadlines';
    const worker = new Worker(\`
      fetch('${url(peer)}').catch(async ({ cause }) => {
        const { stats } = await import('millrace/deadlines');
        const { parentPort } = await import('node:worker_threads');
        parentPort.postMessage([cause.limit, stats().hits.total]);
      });\`, { eval: true });
    worker.on('message', (message) => console.log(...message, stats().calls));`,
      short,
    );
    assert.equal(stdout, 'total 1 0\n');
  });

  test('MILLRACE_DEADLINES=off turns all limits off', limits, async (t) => {
    const { call, stats } = service(t, { ...short, MILLRACE_DEADLINES: 'off' });
    assert.equal((await call('fetch', { url: url(await late(t, 500)) })).value, 'late');
    assert.equal((await stats()).calls, 0);
  });

  test('deadlines work together with the native stack', limits, async (t) => {
    const peer = await mute(t);
    const { stdout, stderr } = await run(
      `import 'millrace/register';
    import http from 'node:http';
    const server = http.createServer(async (request, response) => {
      const failed = await fetch('${url(peer)}').catch(({ cause }) => cause.limit);
      response.end(failed);
    });
    server.listen(0, '127.0.0.1', async () => {
      const { port } = server.address();
      console.log(await (await fetch(\`http://localhost:\${port}/\`)).text(), server.stats().requests.native);
      process.exit();
    });`,
      { MILLRACE_DEADLINE_TOTAL: '200ms', MILLRACE_DEADLINE_HOSTS: 'localhost=10s' },
    );
    assert.equal(stdout, 'total 1\n', stderr);
  });

  const mistakes = {
    MILLRACE_DEADLINE_TOTAL: [
      'fast',
      "MILLRACE_DEADLINE_TOTAL must be a duration with a unit, such as 500ms, 3s or 1m30s, or off for no limit (got 'fast')",
    ],
    MILLRACE_DEADLINE_TOTL: [
      '3s',
      'MILLRACE_DEADLINE_TOTL is an unknown variable; did you mean MILLRACE_DEADLINE_TOTAL?',
    ],
    MILLRACE_DEADLINES: [
      'no',
      "MILLRACE_DEADLINES must be off, which turns deadlines off (got 'no')",
    ],
    MILLRACE_DEADLINE_HOSTS: [
      'a.test=later:3s',
      "MILLRACE_DEADLINE_HOSTS: a.test: limits must be connect, tls, headers, idle, total, each with a duration, such as total:10s (got 'later:3s')",
    ],
  };
  for (const [variable, [value, message]] of Object.entries(mistakes)) {
    test(`a mistake in ${variable} is one line`, limits, async () => {
      const { code, stdout, stderr } = await run('console.log("started")', { [variable]: value });
      assert.deepEqual(
        { code, stdout, stderr },
        { code: 2, stdout: '', stderr: `millrace: ${message}\n` },
      );
    });
  }

  test(
    "undici's older connections have the total, and all limits after the first call that lasts",
    limits,
    async (t) => {
      const peer = await web(t, (request, response) => {
        if (request.url === '/') response.end('here');
      });
      const program = `
      import { Client } from 'undici';
      const clients = [new Client('${url(peer)}'), new Client('${url(peer)}')];
      const ask = async (client, path) =>
        (await client.request({ path, method: 'GET' })).body.text();
      for (const client of clients) await ask(client, '/');
      await import('millrace/deadlines/register');
      const limits = [];
      for (const client of clients) {
        limits.push(await ask(client, '/never').catch(({ limit }) => limit));
      }
      console.log(limits.join());
      process.exit();`;
      const env = {
        ...process.env,
        MILLRACE_DEADLINE_TOTAL: '1500ms',
        MILLRACE_DEADLINE_HEADERS: '300ms',
      };
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--input-type=module', '-e', program],
        { env, cwd: fileURLToPath(new URL('../../..', import.meta.url)) },
      );
      assert.equal(stdout, 'total,headers\n');
    },
  );

  test(
    'requests of undici are observed where their class was patched by others',
    limits,
    async (t) => {
      const peer = await web(t, (request, response) => {
        if (request.url === '/never') return;
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
        setTimeout(() => response.end('data: 2\n\n'), 1200);
      });
      const { stdout } = await run(
        `
    import Request from 'undici/lib/core/request.js';
    import { request } from 'undici';
    import { stats } from 'millrace/deadlines';
    const { onHeaders } = Request.prototype;
    Request.prototype.onHeaders = function (...args) { return onHeaders.apply(this, args); };
    const ask = async (path) => (await request(new URL(path, '${url(peer)}'))).body.text();
    const { length } = await ask('/events');
    const limit = await ask('/never').catch(({ limit }) => limit);
    console.log(length, limit, stats().calls, stats().inFlight);
    process.exit();`,
        { MILLRACE_DEADLINE_TOTAL: '400ms' },
      );
      assert.equal(stdout, '18 total 2 0\n');
    },
  );

  test(
    'upgrades of undici 5 are observed where its request class was patched by others',
    limits,
    async (t) => {
      const echo = await web(t, () => {});
      echo.server.on('upgrade', (_request, socket) => {
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n',
        );
      });
      const { stdout } = await run(
        `
    import Request from 'undici-5/lib/core/request.js';
    import { upgrade } from 'undici-5';
    import { stats } from 'millrace/deadlines';
    const { onHeaders } = Request.prototype;
    Request.prototype.onHeaders = function (...args) { return onHeaders.apply(this, args); };
    await upgrade('${url(echo)}', { protocol: 'echo' });
    console.log(stats().calls, stats().inFlight);
    process.exit();`,
        {},
      );
      assert.equal(stdout, '1 0\n');
    },
  );
});
