// A timeout that an SDK implements with a controller and a timer is the application's own.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mute, web } from '../../fixtures/deadlines/peers.js';
import { service } from '../../fixtures/deadlines/service.js';

const limits = { timeout: 30_000 };
const url = ({ port }) => `http://127.0.0.1:${port}/`;
const env = { MILLRACE_DEADLINE_TOTAL: '1s', MILLRACE_DEADLINE_CONNECT: '10s' };

const withTimer = [
  ...['fetch', 'fetch of a Request', 'fetch of a Request that was made earlier'],
  ...['fetch in a later turn', 'fetch, signal of several', 'fetch, redirected'],
  ...['undici 5', 'undici 6', 'undici 7', "undici's fetch"],
  ...['http', 'axios', 'axios, redirected', 'node-fetch'],
  ...['fetch, a bound method', 'http, a timer that destroys'],
];
const withoutTimer = [
  ...['fetch without a signal', 'http without a signal'],
  ...['fetch of a Request without a signal', 'fetch of undici 6 without a signal'],
  ...['fetch, a controller without a timer', 'http, a controller without a timer'],
  ...['fetch, a watchdog', 'undici 6, a watchdog', 'http, a watchdog'],
];

/** Returns the result of each call, by its kind. */
async function each(call, asks, options) {
  const { value, error } = await call('controlled', { asks, ...options });
  assert.equal(error, undefined);
  return Object.fromEntries(asks.map((way, index) => [way, value[index]]));
}

const all = (asks, value) => Object.fromEntries(asks.map((way) => [way, value]));

describe('an AbortController with a timer', { concurrency: 4 }, () => {
  test('a timer longer than the limits replaces them', limits, async (t) => {
    const { call, stats } = service(t, env);
    const peer = await web(t, (request, response) => {
      if (request.url === '/moved') response.writeHead(302, { Location: '/' }).end();
      else setTimeout(() => response.end('late'), 1700);
    });
    const options = { url: url(peer), ms: 20_000 };
    assert.deepEqual(await each(call, withTimer, options), all(withTimer, 'late'));
    assert.equal((await stats()).hits.total, 0);
  });

  test('the timer of a controller ends its call', limits, async (t) => {
    const { call, stats } = service(t, env);
    const options = { url: url(await mute(t)), ms: 1300 };
    const asks = withTimer.filter((way) => !way.startsWith('axios'));
    assert.deepEqual(await each(call, asks, options), all(asks, 'AbortError'));
    assert.equal((await stats()).hits.total, 0);
  });

  test('a call without a controller or without a timer ends by its limit', limits, async (t) => {
    const { call, stats } = service(t, env);
    const options = { url: url(await mute(t)), ms: 20_000 };
    assert.deepEqual(await each(call, withoutTimer, options), all(withoutTimer, 'total'));
    assert.equal((await stats()).hits.total, withoutTimer.length);
  });

  test('the patched setTimeout and AbortController look unpatched', limits, async (t) => {
    const { call } = service(t, env);
    const { value, error } = await call('looks');
    assert.deepEqual(
      value,
      [true, 'setTimeout', 'slept', true, true, 'get signal'],
      error?.message,
    );
  });
});
