// What requests wait for, as the probe sees it, in a service that knows.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { describe, test } from 'node:test';
import { STACK } from '../../fixtures/explain/probed.js';
import { load, observeWaits, waiting } from '../../fixtures/explain/waiting.js';
import { retried } from '../../fixtures/retry.js';

/** Sums the shares of the parts for which requests wait in code with that function and line. */
function sum(parts, waitsFor, code) {
  const those = parts.filter(
    (part) => waitsFor.test(part.waitsFor) && (code === undefined || code.test(part.code)),
  );
  return those.reduce((total, { share }) => total + share, 0);
}

function near(share, expected, parts, points = 0.05) {
  const all = parts.filter((part) => part.share > 0.01);
  assert.ok(
    Math.abs(share - expected) <= points,
    `${share}, not ${expected} in ${JSON.stringify(all, null, 1)}`,
  );
}

/** Of 60 requests one has the lock, of 20 four have a connection. */
const MIXED = { mutex: 60, pool: 20, call: 20 };

/** What clients have not sent yet is nowhere in the service: a busy machine changes the parts. */
function measureMixed(service) {
  const measure = () => observeWaits(service, MIXED);
  return retried(measure, (seen) => checkMixed(seen, service));
}

function checkMixed({ parts, waits }, { to, lines }) {
  near(sum(parts, /^promise$/, /mutex waiting\.mjs:\d+ > takeLock waiting\.mjs:21$/), 0.59, parts);
  near(
    sum(parts, /^promise$/, /pool waiting\.mjs:\d+ > takeConnection waiting\.mjs:39$/),
    0.16,
    parts,
  );
  near(sum(parts, new RegExp(`^${lines}: answer$`), /askLine waiting\.mjs:\d+/), 0.04, parts, 0.03);
  near(sum(parts, new RegExp(`^${to}: answer$`), /call waiting\.mjs:59/), 0.2, parts);
  assert.ok(waits.attributed > 0.95, `${waits.attributed}`);
  const [heaviest] = waits.heaviest;
  assert.equal(heaviest.waitsFor, 'promise');
  assert.match(heaviest.frames.at(-1).place, /waiting\.mjs:21$/);
}

/** Of eight requests two have a connection, of a pool and of an agent. */
const QUEUED = { pooled: 8, fetched: 8 };

function checkQueued({ to }) {
  return ({ parts, waits }) => {
    for (const code of [/pooled waiting\.mjs:\d+/, /fetched waiting\.mjs:\d+/]) {
      near(sum(parts, new RegExp(`^${to}: a connection`), code), 0.375, parts);
      near(sum(parts, new RegExp(`^${to}: answer`), code), 0.125, parts);
    }
    assert.ok(waits.attributed > 0.95, `${waits.attributed}`);
  };
}

function checkKinds(parts, to) {
  const seen = (waitsFor, code) => {
    const share = sum(parts, waitsFor, code);
    assert.ok(share > 0.001, `${waitsFor} ${code} in ${JSON.stringify(parts, null, 1)}`);
    return share;
  };
  seen(new RegExp(`^${to}: answer`), /fetch waiting\.mjs/);
  // Two of eight have a connection.
  const queued = seen(new RegExp(`^${to}: a connection`), /bounded waiting\.mjs.* > call/);
  const answered = seen(new RegExp(`^${to}: answer`), /bounded waiting\.mjs.* > call/);
  assert.ok(queued > 1.5 * answered, `${queued}, ${answered}`);
  seen(/^timer$/, /callbacks waiting\.mjs/);
  // A callback is called by the code that handed it over.
  seen(/^file system: readFile$/, /callbacks waiting\.mjs:\d+ > afterPause waiting\.mjs/);
  seen(/^timer$/, /deep waiting\.mjs:\d+ > descend waiting\.mjs/);
  seen(/^thread pool: scrypt$/, /scrypt waiting\.mjs/);
  seen(/^timer$/, /readSlowly waiting\.mjs/);
}

describe('waits', { concurrency: 1 }, () => {
  test('a lock, a pool and calls have their parts, and the lines where they began', async () => {
    await waiting({}, (service) => measureMixed(service));
  });

  test('the same on the native stack', async () => {
    await waiting({ args: ['--import', STACK] }, (service) => measureMixed(service));
  });

  test('the processes of a cluster are added up', async () => {
    await waiting({ env: { WORKERS: '2' } }, async (service) => {
      // Each worker has a lock of its own.
      const { parts, answers } = await observeWaits(service, { mutex: 20, timer: 20 });
      // The primary process serves nothing.
      assert.equal(answers.filter(({ requests }) => requests > 0).length, 2);
      near(sum(parts, /^timer$/, /timer waiting\.mjs/), 0.5, parts, 0.15);
      near(sum(parts, /^promise$/, /takeLock/), 0.45, parts, 0.15);
    });
  });

  test('kinds of waits are told apart, in callbacks too', async () => {
    await waiting({}, async (service) => {
      const some = { fetch: 4, bounded: 8, callbacks: 8, all: 4, scrypt: 2, deep: 2 };
      await retried(
        () => observeWaits(service, some, { ms: 2000 }),
        ({ parts }) => checkKinds(parts, service.to),
      );
    });
  });

  for (const version of ['undici', 'undici-6', 'undici-5']) {
    test(`calls that wait in the queue of a pool of ${version} are their caller's`, async () => {
      await waiting({ env: { UNDICI: version } }, async (service) => {
        await retried(() => observeWaits(service, QUEUED), checkQueued(service));
      });
    });
  }

  test('what is not seen to wait is shown as such', async () => {
    await waiting({}, async (service) => {
      const { parts, waits } = await observeWaits(service, { queue: 20, timer: 20, logs: 4 });
      assert.ok(sum(parts, /^not attributed$/) > 0.2, JSON.stringify(parts));
      near(sum(parts, /./), 1, parts, 1e-6);
      assert.ok(waits.attributed < 0.8);
      // What is printed has no answer.
      assert.equal(sum(parts, /Unix socket/), 0, JSON.stringify(parts));
    });
  });

  test('the application keeps its stores, its stacks and their format, and its random numbers', async () => {
    await waiting({ env: { FORMATS: '1' } }, async (service) => {
      const { hub, port } = service;
      const stop = load(port, { mutex: 4, own: 4 });
      const observing = hub.command('waits', { ms: 600, depth: 16 });
      const during = await Promise.all([ask(port, '/own?first'), ask(port, '/stacks')]);
      const stacksAsked = 2;
      const [{ frames, requests }] = await observing;
      const after = await Promise.all([ask(port, '/own?second'), ask(port, '/stacks')]);
      await stop();
      assert.ok(requests > 0 && frames.some(({ name }) => name === 'takeLock'));
      for (const [{ store }, { stacks, text }] of [during, after]) {
        assert.match(store, /^\/own\?(first|second)$/);
        assert.match(text, /^told in [123] frames$/);
        assert.equal(JSON.parse(stacks)[0], 3);
      }
      // It formats its own errors only: one in each of the answers, whose number is told before.
      const [, formatted] = JSON.parse((await ask(port, '/stacks')).stacks);
      assert.equal(formatted, stacksAsked);
    });
  });

  test('ends with the channel, without an answer', async () => {
    await waiting({}, async ({ hub, port, child }) => {
      await ask(port, '/timer');
      const observing = hub.command('waits', { ms: 60_000, depth: 16 }).catch(() => null);
      const stop = load(port, { mutex: 4 });
      await ask(port, '/mutex');
      await hub.close();
      assert.equal(await observing, null);
      await ask(port, '/mutex');
      await stop();
      const gone = once(child, 'exit');
      child.send('end');
      const [code] = await gone;
      assert.equal(code, 0);
    });
  });
});

function ask(port, path) {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.headers));
    }).on('error', reject);
  });
}
