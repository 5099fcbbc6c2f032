// setup() before the clock and teardown() after it: their order, what they know and return, and what happens when they fail or
// the run is stopped.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { load, MillraceError } from 'millrace';
import { request, scenario } from 'millrace/scenario';
import { scenarioServer } from '../../fixtures/scenario/server.js';
import { startMillrace } from '../../fixtures/truth/cli.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-setup-'));
after(() => rmSync(folder, { recursive: true }));

const one = () => scenario('one', [request('use', 'GET /use/{{token}}')]);

describe('setup() and teardown()', { timeout: 30_000 }, () => {
  test('are called once, around the run, with what setup() returned', async (t) => {
    const calls = [];
    const server = await scenarioServer(t, ({ url }) => {
      calls.push(url);
    });
    const module = {
      default: one(),
      async setup({ url, env, signal }) {
        assert.ok(env === process.env && !signal.aborted);
        await fetch(`${url}/login`);
        calls.push('setup');
        return { token: 't 1', list: [1], call() {} };
      },
      teardown(data, { url }) {
        assert.equal(url, server.url);
        assert.deepEqual([data.token, typeof data.call], ['t 1', 'function']);
        calls.push('teardown');
      },
    };
    const result = await load({ url: `${server.url}/`, scenario: module, requests: 10, users: 3 });
    assert.deepEqual(calls, ['/login', 'setup', ...Array(10).fill('/use/t%201'), 'teardown']);
    assert.equal(result.requests.sent, 10);
  });

  test('that fail are told; a run that cannot be is refused before setup()', async (t) => {
    const server = await scenarioServer(t);
    const calls = [];
    const fail = async (module, options = {}) => {
      const error = await load({
        url: server.url,
        scenario: { default: one(), ...module },
        requests: 3,
        ...options,
      }).then(
        () => null,
        (it) => it,
      );
      assert.ok(error instanceof MillraceError, `${error}`);
      return error.message;
    };
    const teardown = () => void calls.push('teardown');
    // What setup() has not done is not undone.
    assert.match(
      await fail({ setup: () => Promise.reject(new Error('no login')), teardown }),
      /^the scenario's setup\(\) failed: \S*setup\.test\.js:\d+: no login$/,
    );
    assert.match(
      await fail({ setup: () => Promise.reject('text'), teardown }),
      /^the scenario's setup\(\) failed: text$/,
    );
    assert.deepEqual([calls, server.requests.length], [[], 0]);
    // The result is kept: a warning tells.
    const warned = once(process, 'warning');
    const kept = await load({
      url: server.url,
      scenario: {
        default: one(),
        setup: () => ({ token: 1 }),
        teardown: () => {
          throw new Error('left');
        },
      },
      requests: 3,
    });
    const [warning] = await warned;
    assert.match(warning.message, /^the scenario's teardown\(\) failed: \S+: left$/);
    assert.equal(kept.iterations.completed, 3);
    assert.equal(server.requests.length, 3);
    const setup = () => void calls.push('setup');
    assert.match(
      await fail({ setup }, { failOn: 'nobody: p99<1s' }),
      /no request has the name 'nobody'/,
    );
    assert.deepEqual(calls, []);
    // The variables of setup() are known only afterwards.
    assert.match(
      await fail({ setup: () => ({ tokn: 1 }), teardown }),
      /step 'use': \{\{token\}\} has no value: known here are \{\{tokn\}\}/,
    );
    assert.deepEqual(calls, ['teardown']);
  });

  test('return anything', async (t) => {
    const server = await scenarioServer(t);
    for (const data of [
      undefined,
      null,
      5,
      'text',
      [1, 2],
      {
        get bad() {
          throw new Error('bad');
        },
      },
      new Map([[1, 2]]),
    ]) {
      const seen = [];
      const module = {
        default: scenario('any', [request('x', 'GET /')]),
        setup: () => data,
        teardown: (it) => void seen.push(it),
      };
      const result = await load({ url: server.url, scenario: module, requests: 1, users: 1 });
      assert.equal(result.iterations.completed, 1);
      assert.equal(seen.length, 1);
      assert.ok(seen[0] === data || (data === null && seen[0] === undefined));
    }
  });

  test('that are aborted: teardown() is called if setup() was done', async (t) => {
    const server = await scenarioServer(t);
    /** @type {[string, string[]][]} */
    const cases = [
      ['setup', []],
      ['run', ['teardown']],
    ];
    for (const [when, expected] of cases) {
      const calls = [];
      const controller = new AbortController();
      const run = load({
        ...{ url: server.url, duration: '60s', signal: controller.signal },
        scenario: {
          default: scenario('any', [
            request('x', 'GET /', { before: () => when === 'run' && controller.abort() }),
          ]),
          setup: () => {
            if (when === 'run') return undefined;
            queueMicrotask(() => controller.abort(new Error('stop')));
            // It does not listen to the signal.
            return new Promise(() => {});
          },
          teardown: () => void calls.push('teardown'),
        },
      });
      const ended = await run.then(
        (result) => result.interrupted,
        (error) => error.message,
      );
      assert.deepEqual(calls, expected, `${when}`);
      assert.equal(ended, when === 'run' ? true : 'stop');
    }
  });

  test('teardown() runs after Ctrl-C, before the command ends, and the result is written', async (t) => {
    const server = await scenarioServer(t);
    const log = join(folder, 'log');
    const file = join(folder, 'stopped.mjs');
    writeFileSync(
      file,
      `import { appendFileSync } from 'node:fs';
      import { request, scenario } from 'millrace/scenario';
      const note = (text) => appendFileSync(${JSON.stringify(log)}, text + '\\n');
      export const setup = async () => { note('setup'); return { token: 7 }; };
      export const teardown = async ({ token }) => {
        await new Promise((done) => setTimeout(done, 50));
        note('teardown ' + token);
      };
      export default scenario('one', [request('use', 'GET /use/{{token}}')]);`,
    );
    const { child, ended } = startMillrace([
      'run',
      file,
      '--json',
      '-d',
      '60s',
      '-c',
      '2',
      server.url,
    ]);
    await Promise.race([server.arrived(10), ended.then(({ stderr }) => assert.fail(stderr))]);
    child.kill('SIGINT');
    const { code, stdout } = await ended;
    assert.equal(code, 0);
    const result = JSON.parse(stdout);
    assert.deepEqual([result.interrupted, result.requests.sent], [true, server.requests.length]);
    assert.equal(readFileSync(log, 'utf8'), 'setup\nteardown 7\n');
  });
});
