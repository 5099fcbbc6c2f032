// The scenarios of the examples, which the guides show, against the server beside them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { load } from 'millrace';
import { root } from '../../fixtures/documents/documents.js';

const FOLDER = join(root, 'examples/scenarios');
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.mjs'));
const ITERATIONS = 8;

/** Requests and checks of one iteration, and own metrics, by file; `account.mjs` has two scenarios. */
const EXPECTED = {
  'checkout.mjs': { requests: 3, checks: 3 },
  'from-artillery.mjs': { requests: 3, checks: 2 },
  'from-autocannon.mjs': { requests: 3, checks: null },
  'from-k6.mjs': { requests: 3, checks: 4, metrics: ['basket'] },
  'signed.mjs': { requests: 1, checks: null, metrics: ['basket', 'orders'] },
};

// Paths of CSV files are those of a reader at the root of the checkout.
const working = process.cwd();
let shop;
let url;

before(async () => {
  process.chdir(root);
  shop = spawn(process.execPath, [join(FOLDER, 'shop.js')], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [line] = await once(createInterface(shop.stderr), 'line');
  [url] = /http:\/\/\S+/.exec(line);
});

after(async () => {
  process.chdir(working);
  const ended = once(shop, 'close');
  shop.kill();
  await ended;
});

function run(file) {
  return load({ url, scenario: join(FOLDER, file), users: 4, requests: ITERATIONS });
}

// One at a time: their steps have time limits.
describe('each scenario of the examples does all its steps', () => {
  for (const [file, expected] of Object.entries(EXPECTED)) {
    test(file, async () => {
      const { iterations, requests, checks, steps, metrics } = await run(file);
      const failures = steps.flatMap((step) => step.failures);
      assert.equal(iterations.completed, ITERATIONS, JSON.stringify(failures));
      assert.equal(requests.ok, ITERATIONS * expected.requests);
      const passed = expected.checks && { passed: ITERATIONS * expected.checks, failed: 0 };
      assert.deepEqual(checks, passed);
      assert.deepEqual(Object.keys(metrics).sort(), expected.metrics ?? []);
    });
  }

  test('account.mjs', async () => {
    const { iterations, requests, checks, scenarios, steps } = await run('account.mjs');
    const [browse, collect] = ['browse', 'collect'].map(
      (name) => scenarios.find((one) => one.name === name).completed,
    );
    assert.equal(iterations.completed, ITERATIONS);
    // With a redirection: three; a login, three lists, an order and its page: six.
    assert.equal(requests.sent, 3 * browse + 6 * collect, JSON.stringify(steps));
    assert.deepEqual(checks, { passed: 3 * browse, failed: 0 });
  });
});

test('the tests know all scenarios of the examples', () => {
  assert.deepEqual(FILES.sort(), [...Object.keys(EXPECTED), 'account.mjs'].sort());
});
