// The client: limits, bounded pools, retries within a budget.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import dns from 'node:dns';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { createClient } from 'millrace/client';
import { errors } from 'undici';
import { dropping, has, mute, stopping, takeSlowly, web } from '../../fixtures/deadlines/peers.js';
import { run } from '../../fixtures/deadlines/program.js';

const limits = { timeout: 30_000 };
const url = ({ port }) => `http://127.0.0.1:${port}/`;

function client(t, options) {
  const made = createClient(options);
  t.after(() => made.destroy());
  return made;
}

/** Answers with these statuses in turn, then with the last one. */
async function turns(t, statuses, headers = {}) {
  const times = [];
  const peer = await web(t, (request, response) => {
    request.resume();
    response.writeHead(statuses[Math.min(times.length, statuses.length - 1)], headers).end('body');
    times.push(performance.now());
  });
  return { ...peer, times };
}

// The tests wait most of the time.
describe('the client', { concurrency: 4 }, () => {
  test('a call has a path, a status, headers and a body', limits, async (t) => {
    const peer = await web(t, async (request, response) => {
      const body = (await request.toArray()).join('');
      response.setHeader('X-Method', request.method);
      response.end(JSON.stringify({ path: request.url, body, a: request.headers['x-a'] }));
    });
    const { request, stats } = bound(client(t, { origin: url(peer) }));
    const response = await request('/path?q=1', {
      method: 'POST',
      body: 'hello',
      headers: { 'X-A': 'a' },
    });
    assert.equal(response.status, 200);
    assert.equal(response.ok, true);
    assert.equal(response.tries, 1);
    assert.equal(response.headers['x-method'], 'POST');
    assert.deepEqual(await response.json(), { path: '/path?q=1', body: 'hello', a: 'a' });
    const { calls, inFlight, failed, pools } = stats();
    assert.deepEqual([calls, inFlight, failed], [1, 0, 0]);
    assert.equal(pools[url(peer).slice(0, -1)].connected, 1);
  });

  test('headers of any name are sent, with all their values', limits, async (t) => {
    const peer = await web(t, ({ rawHeaders }, response) =>
      response.end(JSON.stringify(rawHeaders)),
    );
    const made = client(t, { origin: url(peer) });
    const pairs = [
      ['constructor', 'a'],
      ['__proto__', 'b'],
      ['toString', 'c'],
      ['x-twice', 'd'],
      ['x-twice', 'e'],
    ];
    for (const headers of [pairs, new Headers(pairs), new Map(pairs)]) {
      const options = { method: 'POST', headers, body: 'text' };
      const raw = await (await made.request('/', options)).json();
      const values = (name) =>
        raw.filter((_, index) => index % 2 === 1 && raw[index - 1].toLowerCase() === name).join();
      assert.deepEqual(['constructor', '__proto__', 'tostring'].map(values), ['a', 'b', 'c']);
      assert.match(values('x-twice'), headers instanceof Map ? /^e$/ : /^d, ?e$/);
    }
  });

  const bound = (made) => ({
    request: (...args) => made.request(...args),
    stats: () => made.stats(),
  });

  test('total limits a call up to its last byte, and closes its connection', limits, async (t) => {
    const made = client(t, { timeouts: { total: 300 }, retries: false });
    const never = await mute(t);
    const closed = new Promise((resolve) => {
      never.server.once('connection', (socket) => socket.once('close', resolve));
    });
    await assert.rejects(made.request(url(never)), {
      code: 'UND_ERR_HEADERS_TIMEOUT',
      limit: 'total',
      host: '127.0.0.1',
      message:
        /^127\.0\.0\.1: total limit of 300 ms reached after [\d.]+ m?s, waiting for the response headers \(millrace\/client\)$/,
    });
    await closed;
    const response = await made.request(url(await stopping(t)));
    await assert.rejects(response.text(), { code: 'UND_ERR_BODY_TIMEOUT', limit: 'total' });
    const { hits, failed, inFlight } = made.stats();
    assert.deepEqual([hits.total, failed, inFlight], [2, 2, 0]);
  });

  test('headers and idle limit the response', limits, async (t) => {
    const made = client(t, { timeouts: { headers: 100, idle: 100 }, retries: false });
    // In time, that is: undici's timers have a resolution of a second.
    const inTime = (limit, code) => (error) => {
      assert.deepEqual([error.limit, error.limitMs, error.code], [limit, 100, code]);
      assert.ok(error.elapsedMs >= 100 && error.elapsedMs < 950, String(error.elapsedMs));
      return true;
    };
    const never = made.request(url(await mute(t)));
    await assert.rejects(never, inTime('headers', 'UND_ERR_HEADERS_TIMEOUT'));
    const response = await made.request(url(await stopping(t)));
    await assert.rejects(response.text(), inTime('idle', 'UND_ERR_BODY_TIMEOUT'));
    const { hits } = made.stats();
    assert.deepEqual(hits, { connect: 0, headers: 1, idle: 1, total: 0 });
  });

  test('a request that moves, or that its application writes, is in time', limits, async (t) => {
    const made = client(t, { timeouts: { headers: 600, total: 0 }, retries: false });
    // What the system has in its buffers at the end is read within the limit: some 10 MB.
    const slow = await web(t, takeSlowly(20));
    async function* parts() {
      for (let part = 0; part < 2; part++) {
        yield Buffer.from('part');
        await new Promise((resolve) => setTimeout(resolve, 800));
      }
    }
    for (const body of [Buffer.alloc(40_000_000), parts()]) {
      const response = await made.request(url(slow), { method: 'POST', body });
      assert.equal(await response.text(), 'taken');
    }
  });

  test('a response that the application reads at its own pace is in time', limits, async (t) => {
    const made = client(t, { timeouts: { idle: 300, total: 0 }, retries: false });
    const size = 8_000_000;
    const large = await web(t, (_request, response) => response.end(Buffer.alloc(size)));
    const response = await made.request(url(large));
    let bytes = 0;
    for await (const chunk of response.body) {
      if (bytes === 0) await new Promise((resolve) => setTimeout(resolve, 900));
      bytes += chunk.length;
    }
    assert.equal(bytes, size);
  });

  test('a call that waits for a connection keeps the process alive', limits, async (t) => {
    const large = await web(t, (_request, response) => response.end(Buffer.alloc(8_000_000)));
    const { stdout } = await run(`
      import { createClient } from 'millrace/client';
      const client = createClient({ connections: 1, timeouts: { total: '400ms' }, retries: false });
      const { status } = await client.request('${url(large)}', { timeouts: { total: 0, idle: 0 } });
      const limit = await client.request('${url(large)}').catch(({ limit }) => limit);
      console.log(status, limit);`);
    assert.equal(stdout, '200 total\n');
  });

  test('connect limits opening a connection', { ...limits, skip: !has('python3') }, async (t) => {
    const made = client(t, { timeouts: { connect: 300 }, retries: false });
    const call = made.request(url(await dropping(t)));
    const limit = { limit: 'connect', limitMs: 300, host: '127.0.0.1' };
    await assert.rejects(call, { code: 'UND_ERR_CONNECT_TIMEOUT', ...limit });
    assert.equal(made.stats().hits.connect, 1);
  });

  test('a call may have limits and a signal of its own', limits, async (t) => {
    const made = client(t, { timeouts: { total: '20s' }, retries: false });
    const never = url(await mute(t));
    await assert.rejects(made.request(never, { timeouts: { total: 200 } }), { limit: 'total' });
    const hurried = client(t, { timeouts: { headers: 100 }, retries: false });
    await assert.rejects(hurried.request(never, { timeouts: { total: '20s' } }), {
      code: 'UND_ERR_HEADERS_TIMEOUT',
    });
    assert.deepEqual([hurried.stats().hits.headers, hurried.stats().hits.total], [1, 0]);
    const controller = new AbortController();
    const call = made.request(never, { signal: controller.signal });
    controller.abort(new Error('gone'));
    await assert.rejects(call, { message: 'gone' });
    await assert.rejects(made.request(never, { signal: controller.signal }), { message: 'gone' });
  });

  test(
    'the number of connections is bounded, and the time in the queue counts',
    limits,
    async (t) => {
      const made = client(t, { connections: 2, timeouts: { total: 300 }, retries: false });
      const never = await mute(t);
      const calls = Array.from({ length: 5 }, () => made.request(url(never)));
      for (const { reason } of await Promise.allSettled(calls)) assert.equal(reason.limit, 'total');
      assert.equal(made.stats().hits.total, 5);
    },
  );

  test('pipelining sends requests before the first one is answered', limits, async (t) => {
    const waiting = [];
    const peer = await web(t, (_request, response) => {
      if (waiting.push(response) < 4) return;
      for (const one of waiting.splice(0)) one.end();
    });
    const made = client(t, { connections: 1, pipelining: 4 });
    await Promise.all(
      Array.from({ length: 8 }, async () => (await made.request(url(peer))).text()),
    );
    assert.equal(peer.sockets.size, 1);
  });

  test('a call whose time is over in the queue closes no connection', limits, async (t) => {
    let connections = 0;
    let answer = () => {};
    const peer = await web(t, (request, response) => {
      if (request.url === '/held') answer = () => response.end('held');
      else response.end('next');
    });
    peer.server.on('connection', () => {
      connections += 1;
    });
    const made = client(t, { origin: url(peer), connections: 1, retries: false });
    const held = made.request('/held', { timeouts: { total: '20s' } });
    await once(peer.server, 'request');
    const late = Array.from({ length: 3 }, () => made.request('/', { timeouts: { total: 100 } }));
    const next = made.request('/', { timeouts: { total: '20s' } });
    const { origin } = new URL(url(peer));
    while (made.stats().pools[origin].queued < 4) await new Promise(setImmediate);
    for (const { reason } of await Promise.allSettled(late)) assert.equal(reason.limit, 'total');
    answer();
    assert.equal(await (await held).text(), 'held');
    assert.equal(await (await next).text(), 'next');
    assert.equal(connections, 1);
  });

  test(
    'a call whose time is over while its connection opens closes no other',
    limits,
    async (t) => {
      let connections = 0;
      const peer = await web(t, (_request, response) => response.end('here'));
      peer.server.on('connection', () => {
        connections += 1;
      });
      const { lookup } = dns;
      t.after(() => Object.assign(dns, { lookup }));
      let find = () => {};
      const mayFind = new Promise((resolve) => {
        find = resolve;
      });
      dns.lookup = (...args) => mayFind.then(() => lookup(...args));
      const options = {
        timeouts: { connect: '20s', total: '20s' },
        connections: 1,
        retries: false,
      };
      const made = client(t, { origin: `http://localhost:${peer.port}`, ...options });
      const late = [1, 2].map(() => made.request('/', { timeouts: { total: 100 } }));
      const next = made.request('/');
      for (const { reason } of await Promise.allSettled(late)) assert.equal(reason.limit, 'total');
      find();
      assert.equal(await (await next).text(), 'here');
      assert.equal(connections, 1);
    },
  );

  test('a POST is not repeated when a call behind it is aborted', limits, async (t) => {
    let posts = 0;
    let answer = () => {};
    const peer = await web(t, (request, response) => {
      if (request.method === 'POST') posts += 1;
      if (request.method === 'POST') answer = () => response.end('posted');
    });
    const options = { connections: 1, pipelining: 4, timeouts: { total: '20s' }, retries: false };
    const made = client(t, { origin: url(peer), ...options });
    const post = made.request('/', { method: 'POST', body: 'a' });
    await once(peer.server, 'request');
    await assert.rejects(made.request('/', { timeouts: { total: 100 } }), { limit: 'total' });
    answer();
    assert.equal(await (await post).text(), 'posted');
    assert.equal(posts, 1);
  });

  test(
    'the bound of connections holds where each response closes its connection',
    limits,
    async (t) => {
      let [now, most] = [0, 0];
      const peer = await web(t, (_request, response) => {
        now += 1;
        most = Math.max(most, now);
        setTimeout(() => {
          now -= 1;
          response.writeHead(200, { Connection: 'close' }).end('here');
        }, 20);
      });
      const made = client(t, { connections: 1, timeouts: { total: '20s' } });
      const calls = Array.from({ length: 6 }, async () => (await made.request(url(peer))).text());
      assert.deepEqual(new Set(await Promise.all(calls)), new Set(['here']));
      assert.equal(most, 1);
      // Nothing is kept of an origin without connections.
      while (Object.keys(made.stats().pools).length > 0) await new Promise(setImmediate);
    },
  );

  test('responses that arrived in full and are not read do not block others', limits, async (t) => {
    const peer = await web(t, (_request, response) => response.end('small'));
    const made = client(t, { connections: 1, timeouts: { total: '20s' } });
    const unread = [];
    for (let calls = 0; calls < 5; calls++) unread.push(await made.request(url(peer)));
    for (const response of unread) assert.equal(await response.text(), 'small');
  });

  test('a transient failure is retried', limits, async (t) => {
    const peer = await turns(t, [503, 502, 200]);
    const made = client(t, { retries: { baseDelay: 1, minPerSecond: 5 } });
    const response = await made.request(url(peer));
    assert.deepEqual([response.status, response.tries], [200, 3]);
    assert.equal(made.stats().retries, 2);
  });

  test('a refused connection is retried', limits, async (t) => {
    const peer = await web(t, (_request, response) => response.end('here'));
    const { port } = peer;
    peer.server.close();
    await once(peer.server, 'close');
    const made = client(t, { retries: { baseDelay: '500ms', minPerSecond: 5 } });
    await assert.rejects(made.request(`http://127.0.0.1:${port}/`), { code: 'ECONNREFUSED' });
    assert.equal(made.stats().retries, 2);
  });

  test(
    'POST, streams, other statuses, and calls beyond the budget are not retried',
    limits,
    async (t) => {
      const peer = await turns(t, [503]);
      const made = client(t, { retries: { baseDelay: 1, minPerSecond: 0, budgetRatio: 0.5 } });
      const statusOf = async (options) => {
        const response = await made.request(url(peer), options);
        await response.dump();
        return [response.status, response.tries];
      };
      assert.deepEqual(await statusOf({ method: 'POST', body: 'a' }), [503, 1]);
      assert.deepEqual(await statusOf({ method: 'PUT', body: Readable.from(['a']) }), [503, 1]);
      assert.equal(made.stats().retries, 0);
      // Two calls add one token to the budget, and this one half of the next.
      assert.deepEqual(await statusOf({ method: 'GET' }), [503, 2]);
      assert.deepEqual([made.stats().retries, made.stats().retriesRefused], [1, 1]);
      const missing = await turns(t, [500]);
      assert.equal((await made.request(url(missing))).tries, 1);
    },
  );

  test('a retry does not wait for the rest of the failed response', limits, async (t) => {
    let asked = 0;
    const peer = await web(t, (_request, response) => {
      asked += 1;
      if (asked > 1) {
        response.end('here');
        return;
      }
      response.writeHead(503, { 'Content-Length': 100 });
      response.write('part');
    });
    const made = client(t, {
      timeouts: { total: '20s' },
      retries: { baseDelay: 1, minPerSecond: 5 },
    });
    const response = await made.request(url(peer));
    assert.deepEqual([response.status, response.tries], [200, 2]);
  });

  test('Retry-After is respected, but not beyond the total', limits, async (t) => {
    const made = client(t, {
      timeouts: { total: '2s' },
      retries: { baseDelay: 1, minPerSecond: 5 },
    });
    const soon = await turns(t, [503, 200], { 'Retry-After': '1' });
    assert.equal((await made.request(url(soon))).status, 200);
    assert.ok(soon.times[1] - soon.times[0] >= 990);
    const late = await turns(t, [503, 200], { 'Retry-After': '3' });
    const response = await made.request(url(late));
    assert.deepEqual([response.status, response.tries], [503, 1]);
  });

  test(
    'an invalid Retry-After is ignored, and one beyond any timer prevents the retry',
    limits,
    async (t) => {
      const warnings = [];
      const warned = ({ name }) => warnings.push(name);
      process.on('warning', warned);
      t.after(() => process.off('warning', warned));
      const options = { timeouts: { total: 0 }, retries: { baseDelay: 400, minPerSecond: 10 } };
      const made = client(t, options);
      for (const asked of ['3000000', '9'.repeat(400), 'Fri, 31 Dec 2199 23:59:59 GMT']) {
        const far = await turns(t, [503], { 'Retry-After': asked });
        const response = await made.request(url(far));
        assert.deepEqual([response.status, response.tries], [503, 1], asked);
        await response.dump();
      }
      const random = Math.random;
      t.after(() => Object.assign(Math, { random }));
      Math.random = () => 0.5;
      for (const asked of ['soon', 'soon 2199', 'Fri, soon', '-5']) {
        const senseless = await turns(t, [503, 503, 200], { 'Retry-After': asked });
        assert.equal((await made.request(url(senseless))).tries, 3, asked);
        const [first, second, third] = senseless.times;
        assert.ok(second - first >= 190 && third - second >= 390, `${asked}: ${senseless.times}`);
      }
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(warnings, []);
    },
  );

  test('Retry-After may be a date', limits, async (t) => {
    const made = client(t, {
      timeouts: { total: '20s' },
      retries: { baseDelay: 1, minPerSecond: 5 },
    });
    for (const form of [(date) => date.toUTCString(), asctime]) {
      const since = performance.now();
      // Dates have whole seconds.
      const asked = form(new Date(Date.now() + 2000));
      const peer = await turns(t, [503, 200], { 'Retry-After': asked });
      assert.equal((await made.request(url(peer))).tries, 2);
      const waited = performance.now() - since;
      assert.ok(waited >= 900 && waited < 10_000, `${asked}: ${waited} ms`);
    }
  });

  /** `Sun Nov  6 08:49:37 1994` */
  function asctime(date) {
    const [day, of, month, year, time] = date.toUTCString().replace(',', '').split(' ');
    return `${day} ${month} ${String(Number(of)).padStart(2)} ${time} ${year}`;
  }

  test(
    'a response that arrived in full and is not read does not reach the total',
    limits,
    async (t) => {
      const peer = await web(t, (_request, response) => response.end('small'));
      const made = client(t, { timeouts: { total: 100 } });
      const response = await made.request(url(peer));
      // The time of the limit passes without an event to wait for.
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.deepEqual([made.stats().hits.total, made.stats().failed], [0, 0]);
      assert.equal(await response.text(), 'small');
    },
  );

  test('close waits for the calls in flight, destroy does not', limits, async (t) => {
    const peer = await web(t, (_request, response) => setTimeout(() => response.end('late'), 200));
    const made = createClient();
    const answered = made.request(url(peer)).then((response) => response.text());
    await once(peer.server, 'request');
    await made.close();
    assert.equal(await answered, 'late');
    await assert.rejects(made.request(url(peer)), { code: 'UND_ERR_CLOSED' });
    const other = createClient();
    const failing = assert.rejects(other.request(url(peer)), { message: 'enough' });
    await once(peer.server, 'request');
    await other.destroy(new Error('enough'));
    await failing;
  });

  test('close waits for a call that was begun in the same turn', limits, async (t) => {
    const peer = await web(t, (_request, response) => response.end('here'));
    for (const isUsed of [false, true]) {
      const made = createClient({ origin: url(peer) });
      if (isUsed) await (await made.request('/')).text();
      const answered = made.request('/').then((response) => response.text());
      assert.equal(made.stats().inFlight, 1);
      await made.close();
      assert.equal(made.stats().inFlight, 0);
      assert.equal(await answered, 'here');
    }
  });

  test(
    'close waits for a call that pauses before a retry, and may be called again',
    limits,
    async (t) => {
      let asked = 0;
      const peer = await web(t, (_request, response) => {
        asked += 1;
        response.writeHead(asked === 1 ? 503 : 200, { 'Retry-After': '1' }).end('here');
      });
      const made = createClient({ retries: { baseDelay: 1, minPerSecond: 5 } });
      const answered = made.request(url(peer)).then((response) => response.text());
      while (made.stats().retries === 0) await new Promise(setImmediate);
      await Promise.all([made.close(), made.close()]);
      assert.equal(await answered, 'here');
      assert.equal(asked, 2);
      await made.close();
      await made.destroy();
      await made.close();
    },
  );

  test(
    'a call that pauses before a retry is ended by destroy, and by its signal',
    limits,
    async (t) => {
      const peer = await turns(t, [503], { 'Retry-After': '3600' });
      const options = { timeouts: { total: 0 }, retries: { baseDelay: 1, minPerSecond: 5 } };
      const made = createClient(options);
      const call = assert.rejects(made.request(url(peer)), { message: 'enough' });
      while (made.stats().retries === 0) await new Promise(setImmediate);
      await made.destroy(new Error('enough'));
      await call;
      // No timer of the pause keeps the process alive.
      const script = `
    import { createClient } from 'millrace/client';
    const made = createClient(${JSON.stringify(options)});
    const controller = new AbortController();
    const call = made.request('${url(peer)}', { signal: controller.signal });
    while (made.stats().retries === 0) await new Promise(setImmediate);
    controller.abort(new Error('enough'));
    await call.catch(({ message }) => console.log(message));
    await made.close();`;
      const args = ['--input-type=module', '--eval', script];
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 });
      assert.equal(stdout, 'enough\n');
    },
  );

  test('a closed client makes no calls, whether it was used or not', limits, async (t) => {
    const peer = await web(t, (_request, response) => response.end('here'));
    for (const isUsed of [false, true]) {
      for (const [end, code, error] of [
        ['close', 'UND_ERR_CLOSED', errors.ClientClosedError],
        ['destroy', 'UND_ERR_DESTROYED', errors.ClientDestroyedError],
      ]) {
        const made = createClient({ origin: url(peer) });
        if (isUsed) await (await made.request('/')).text();
        await made[end]();
        const failed = await made.request('/').catch((reason) => reason);
        assert.ok(failed instanceof error, `${end}: ${failed}`);
        assert.equal(failed.code, code);
        assert.match(
          failed.message,
          /^The client is (closed|destroyed); it makes no further calls/,
        );
        const { calls, inFlight } = made.stats();
        assert.deepEqual([calls, inFlight], [isUsed ? 1 : 0, 0]);
      }
    }
  });

  test('invalid options are one line that names the option', limits, async (t) => {
    const usage = (message) => ({ code: 'ERR_MILLRACE_USAGE', message });
    const wrong = (options, message) => assert.throws(() => createClient(options), usage(message));
    wrong({ orign: 'http://a' }, "unknown option 'orign'; did you mean 'origin'?");
    wrong({ origin: 'ftp://a' }, "origin must be a URL with http:// or https:// (got 'ftp://a')");
    wrong({ connections: 0 }, /^connections must be a whole number from 1 .* \(got 0\)$/);
    wrong({ timeouts: { total: 'soon' } }, /^timeouts.total must be a duration .* \(got 'soon'\)$/);
    wrong({ limits: { total: 1 } }, "unknown option 'limits'; it is called 'timeouts'");
    wrong({ timeouts: { tls: 1 } }, /^timeouts: unknown field 'tls'/);
    wrong(
      { retries: { budgetRatio: -1 } },
      'retries.budgetRatio must be a number, 0 or more (got -1)',
    );
    const made = client(t, { origin: 'http://a.test' });
    await assert.rejects(
      made.request('http://b.test/'),
      usage("url must be at http://a.test, the client's origin (got 'http://b.test/')"),
    );
    // @ts-expect-error: there is no such option
    await assert.rejects(made.request('/', { metod: 'GET' }), usage(/^unknown option 'metod'/));
  });
});
