// Timeouts that the application sets in other ways than by the options of its call, and signals of others.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { web } from '../../fixtures/deadlines/peers.js';
import { runCalls } from '../../fixtures/deadlines/program.js';

const limits = { timeout: 30_000 };
const env = { MILLRACE_DEADLINE_TOTAL: '500ms', MILLRACE_DEADLINE_CONNECT: '5s' };

const setUp = (port) => `
  import http from 'node:http';
  import { once } from 'node:events';
  import { addAbortListener } from 'node:events';
  import * as undici from 'undici';
  const url = 'http://127.0.0.1:${port}/';
  const open = (options = {}) => {
    let settle;
    const ended = new Promise((resolve, reject) => { settle = { resolve, reject }; });
    const request = http.request(url, { agent: false, ...options }, (response) => {
      response.once('data', (data) => settle.resolve(String(data)));
    });
    request.on('error', settle.reject);
    return { request, ended };
  };
  const never = () => {};
  const timed = (ms) => {
    const controller = new AbortController();
    setTimeout(never, ms).unref();
    return controller.signal;
  };
  const text = async (response) => (await response).text();
  // A signal for the end of the process, read in a turn in which a timer was started that is over.
  const shutdown = timed(1100);
  await new Promise((resolve) => setTimeout(resolve, 2300));`;

/** Names of expressions that set a timeout longer than the limits. */
const OWN = {
  'a listener that is added once, after the request': `(() => {
    const { request, ended } = open();
    AbortSignal.timeout(9000).addEventListener('abort', never, { once: true });
    request.end();
    return ended;
  })()`,
  'a listener that is added once, before the request': `(() => {
    AbortSignal.timeout(9000).addEventListener('abort', never, { once: true });
    const { request, ended } = open();
    request.end();
    return ended;
  })()`,
  'a timer that is started before the request is ended': `(() => {
    const { request, ended } = open();
    setTimeout(() => request.destroy(), 9000).unref();
    request.end();
    return ended;
  })()`,
  'a timeout of the socket with a listener of its own': `(() => {
    const { request, ended } = open();
    request.once('socket', (socket) => socket.setTimeout(9000, never));
    request.end();
    return ended;
  })()`,
  'a timeout of the response': `new Promise((resolve, reject) => {
    http.get(url + 'half', (response) => {
      response.setTimeout(9000, never);
      response.once('data', () => {}).on('error', reject).on('end', () => resolve('late'));
    }).on('error', reject);
  })`,
  'the option signal': `(() => {
    const { request, ended } = open({ signal: AbortSignal.timeout(9000) });
    request.end();
    return ended;
  })()`,
  'a call of fetch with a signal beside an open request': `(() => {
    const { request, ended } = open();
    ended.catch(never);
    const own = text(fetch(url, { signal: AbortSignal.timeout(9000) }));
    request.destroy();
    return own;
  })()`,
};

/** Names of expressions whose signals and timers are no timeout of the call. */
const OTHERS = {
  'a signal of events.once': `(() => {
    once(process, 'never', { signal: AbortSignal.timeout(9000) }).catch(never);
    const { request, ended } = open();
    request.end();
    return ended;
  })()`,
  "an application's own listener before fetch": `(() => {
    AbortSignal.timeout(9000).addEventListener('abort', never);
    return text(fetch(url));
  })()`,
  "an application's own listener before a call of undici": `(() => {
    AbortSignal.timeout(9000).addEventListener('abort', never);
    return undici.request(url).then(({ body }) => body.text());
  })()`,
  'a signal that has outlived the timer of its turn': `text(fetch(url, { signal: shutdown }))`,
  'such a signal, combined': `text(fetch(url, { signal: AbortSignal.any([shutdown]) }))`,
  'such a signal for http': `(() => {
    const { request, ended } = open({ signal: shutdown });
    request.end();
    return ended;
  })()`,
  'a request beside a call of fetch with a signal': `(() => {
    const { request, ended } = open({ method: 'POST' });
    text(fetch(url, { signal: AbortSignal.timeout(9000) })).catch(never);
    request.end();
    return ended;
  })()`,
  "a body that stops, with the timeout of Node's agents": `new Promise((resolve, reject) => {
    http.get(url + 'half', (response) => response.resume().on('error', reject)).on('error', reject);
  })`,
  'a timer that was cleared before the call': `(() => {
    const controller = new AbortController();
    clearTimeout(setTimeout(() => controller.abort(), 9000));
    return text(fetch(url, { signal: controller.signal }));
  })()`,
  'a timer in another turn': `(async () => {
    setTimeout(never, 9000).unref();
    await sleep(1);
    const { request, ended } = open();
    request.end();
    return ended;
  })()`,
};

describe('timeouts and signals', { concurrency: 2 }, () => {
  test('timeouts of the application are seen however they are set', limits, async (t) => {
    const { port } = await web(t, (request, response) => {
      request.resume();
      if (request.url === '/half') response.write('half');
      setTimeout(() => response.end('late'), 1200);
    });
    const told = await runCalls(OWN, { setUp: setUp(port), env });
    assert.deepEqual(told, Object.fromEntries(Object.keys(OWN).map((name) => [name, 'late'])));
  });

  test('signals and timers of others leave the limits in force', limits, async (t) => {
    const { port } = await web(t, (request, response) => {
      if (request.url === '/half') response.write('half');
    });
    const names = Object.keys(OTHERS);
    const calls = names.map((name) => [
      name,
      `${OTHERS[name]}.catch((error) => (error.cause ?? error).limitMs)`,
    ]);
    const told = await runCalls(Object.fromEntries(calls), { setUp: setUp(port), env });
    assert.deepEqual(told, Object.fromEntries(names.map((name) => [name, 500])));
  });
});
