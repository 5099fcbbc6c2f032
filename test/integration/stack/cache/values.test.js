// Every value that a setting of the output cache may be given: what is none is ignored, with one warning, what is too much is a bound.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { describe, test } from 'node:test';
import { get, limits, serve } from '../../../fixtures/stack/cache/servers.js';

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
const NONE = [Number.NaN, -1, Number.NEGATIVE_INFINITY, '5', null, true, {}, 5n];
const TOO_MUCH = [Number.POSITIVE_INFINITY, Number.MAX_VALUE, 1e16];
const FINE = [0, 0.5, 1, Number.MIN_VALUE, Number.MAX_SAFE_INTEGER];

function throwsOneLine(action, what) {
  assert.throws(
    action,
    (error) =>
      error.code === 'ERR_MILLRACE_USAGE' &&
      /^[^\n]* must be [^\n]* \(got [^\n]*\)$/.test(error.message),
    what,
  );
}

test('res.cacheDuration accepts seconds and ignores other numbers', limits, async (t) => {
  const { server, calls } = await serve(t, true, (request, response) => {
    const given = [...TOO_MUCH, 0, Number.MIN_VALUE][Number(request.url.slice(1))];
    response.cacheDuration = given;
    for (const value of NONE.filter((it) => typeof it === 'number')) {
      response.cacheDuration = value;
    }
    assert.equal(response.cacheDuration, given);
    response.end('x');
  });
  for (const at of [0, 1, 2, 3, 4]) {
    await get(server, `/${at}`);
    await get(server, `/${at}`);
  }
  assert.deepEqual(calls, ['/0', '/1', '/2', '/3', '/3', '/4', '/4']);
  const entries = server.cache.entries();
  assert.equal(entries.length, 3);
  for (const { freshForMs } of entries) {
    assert.ok(freshForMs > 0.99 * YEAR_MS && freshForMs <= YEAR_MS, `${freshForMs}`);
  }
});

/** Asks twice; `expected` is the number of hits. */
async function hits(server, expected) {
  for (let times = 0; times < 2; times++) assert.equal((await get(server)).body, 'x');
  assert.equal(server.cache.stats()?.hits ?? 0, expected);
}

describe('the options of the cache', () => {
  const numbers = ['duration', 'maxBytes', 'maxEntryBytes', 'maxVariants', 'maxWait'];

  for (const key of numbers) {
    test(`a value of ${key} that is not an accepted number is ignored`, limits, async (t) => {
      for (const value of NONE) {
        const { server } = await serve(t, { duration: 60, [key]: value });
        // Without a duration there is nothing to store.
        await hits(server, key === 'duration' ? 0 : 1);
      }
    });
  }

  for (const key of ['earlyRefresh', 'obeyRequests', 'status']) {
    test(`a value of ${key} that is not a boolean is ignored`, limits, async (t) => {
      for (const value of [1, 0, 'true', null, {}]) {
        const { server } = await serve(t, { duration: 60, [key]: value });
        await hits(server, 1);
      }
    });
  }

  test('other values of the option cache are not the stack’s', limits, async (t) => {
    for (const cache of ['yes', 1, null, { size: 1 }, new Map()]) {
      const { server } = await serve(t, cache);
      await hits(server, 0);
    }
  });

  for (const value of [...TOO_MUCH, ...FINE]) {
    test(`requests are answered if all numbers are ${value}`, limits, async (t) => {
      const cache = Object.fromEntries(
        numbers.map((key) => [key, key === 'maxVariants' ? Math.max(1, value) : value]),
      );
      const { server } = await serve(t, cache);
      for (let times = 0; times < 2; times++) assert.equal((await get(server)).body, 'x');
      // In a year at most, and without room for one more not at all.
      const stored = TOO_MUCH.includes(value) || value === Number.MAX_SAFE_INTEGER;
      assert.equal(server.cache.stats().hits, stored ? 1 : 0);
    });
  }

  for (const maxWait of TOO_MUCH) {
    test(`requests wait if maxWait is ${maxWait}`, limits, async (t) => {
      const { server, calls } = await serve(t, { duration: 60, maxWait }, (_request, response) => {
        server.once('go', () => response.end('x'));
      });
      const all = [get(server), get(server)];
      while (server.cache.stats().waiting < 1) await new Promise(setImmediate);
      server.emit('go');
      await Promise.all(all);
      assert.equal(calls.length, 1);
    });
  }

  test('no memory is reserved for a length that exceeds it', limits, async (t) => {
    const all = { duration: 60, maxBytes: Number.MAX_VALUE, maxEntryBytes: Number.MAX_VALUE };
    const { server } = await serve(t, all, (_request, response) => {
      response.writeHead(200, { 'Content-Length': 1e14 });
      response.write('x');
    });
    const socket = net.connect(server.address().port, '127.0.0.1');
    t.after(() => socket.destroy());
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
    assert.equal(server.cache.stats().misses, 1);
  });
});

test('server.cache.entries and delete refuse invalid arguments', limits, async (t) => {
  const { server } = await serve(t, { duration: 60 });
  for (const path of ['/a', '/b']) await get(server, path);
  for (const most of TOO_MUCH) assert.equal(server.cache.entries(most).length, 2);
  assert.equal(server.cache.entries(1.5).length, 1);
  assert.equal(server.cache.entries(0).length, 0);
  for (const most of NONE) throwsOneLine(() => server.cache.entries(most), String(most));
  for (const what of [{ path: 1 }, { prefix: null }, { host: true }, { secure: 'yes' }, null, 1]) {
    throwsOneLine(() => server.cache.delete(what), JSON.stringify(what));
  }
  assert.equal(server.cache.stats().entries, 2);
});

describe('the variable MILLRACE_CACHE_DURATION', () => {
  const register = new URL('../../../../dist/http/register.js', import.meta.url).href;
  const script = `
    const server = require('node:http').createServer((request, response) => response.end('x'));
    server.listen(0, '127.0.0.1', async () => {
      const url = 'http://127.0.0.1:' + server.address().port;
      for (let times = 0; times < 2; times++) await (await fetch(url)).text();
      console.log(server.cache.stats().hits);
      process.exit();
    });
  `;

  function run(value) {
    return new Promise((resolve) => {
      const env = { ...process.env, MILLRACE_CACHE_DURATION: value };
      const args = ['--import', register, '--eval', script];
      execFile(process.execPath, args, { env }, (error, stdout, stderr) => {
        resolve({ code: error?.code ?? 0, stdout: stdout.trim(), stderr });
      });
    });
  }

  test('a value that is not a number of seconds ends the process in one line', limits, async () => {
    const values = ['Infinity', 'NaN', '-1', '1e3', '10s', ' 10', '0x10', 'on'];
    for (const { code, stderr, stdout } of await Promise.all(values.map(run))) {
      assert.equal(code, 2, stderr);
      assert.match(
        stderr,
        /^millrace: MILLRACE_CACHE_DURATION must be seconds[^\n]* \(got '.*'\)\n$/,
      );
      assert.equal(stdout, '');
    }
  });

  test('a value above a year means a year', limits, async () => {
    const { stdout, stderr } = await run('9'.repeat(400));
    assert.equal(stdout, '1', stderr);
  });
});
