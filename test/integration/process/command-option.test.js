// The option `command` of load, capacity, compare and explain: text or a list, with an environment and a folder.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { capacity, compare, explain, load } from 'millrace';
import { CapacityTarget } from '#internal/capacity/target.js';
import { openProbeHub } from '#internal/explain/observe/probe/hub.js';
import { ServerUnderTest } from '#internal/explain/target/server-under-test.js';
import { millraceJson } from '../../fixtures/truth/cli.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-command-'));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(
  join(folder, 'server.cjs'),
  `require('http').createServer((q, r) => {
    r.statusCode = Number(process.env.STATUS);
    r.end(String(process.env.REMOVED));
  }).listen(0, '127.0.0.1');`,
);

/** Only in its folder and with its variable does the server answer so; the line is one for a shell. */
const line = `true && '${process.execPath}' server.cjs`;
const settings = { env: { STATUS: '201' }, cwd: folder };
const words = [process.execPath, 'server.cjs'];
const noProcfs = process.platform !== 'linux';

describe('a command in a folder of its own with variables of its own', { skip: noProcfs }, () => {
  for (const [form, command] of Object.entries({ text: line, 'a list': words })) {
    test(`is loaded, as ${form}`, async () => {
      const result = await load({ command, ...settings, requests: 20 });
      assert.deepEqual(result.statusCodes, { 201: 20 });
      assert.deepEqual(result.plan.command, [command].flat());
    });

    test(`is measured by capacity, as ${form}`, async () => {
      const target = new CapacityTarget({ command, ...settings });
      await target.start();
      try {
        const { statusCodes } = await target.warmUp(1, 100);
        assert.deepEqual(Object.keys(statusCodes), ['201']);
        assert.deepEqual(target.command, [command].flat());
      } finally {
        await target.stop();
      }
    });

    test(`is explained with the probe, as ${form}`, async () => {
      const hub = await openProbeHub();
      const { signal } = new AbortController();
      const trial = { method: 'GET', target: '/' };
      const subject = new ServerUnderTest({}, { command, ...settings }, hub, signal, [], trial);
      try {
        await subject.start();
        assert.equal((await fetch(subject.options.url[0])).status, 201);
        assert.equal(await hub.waitUntilServed(10_000), true);
      } finally {
        await subject.close();
        await hub.close();
      }
    });
  }

  test('is compared, as text, and a side adds its own', async () => {
    const run = { duration: 100, warmup: 0, budget: '1ms', allowDifference: true };
    const result = await compare({
      ...run,
      command: line,
      ...settings,
      a: {},
      b: { env: { STATUS: '202' } },
    });
    assert.match(result.differences.join(), /status 201 of A, status 202 of B/);
    assert.deepEqual([result.sides.a.cwd, result.sides.b.cwd], [folder, folder]);
    assert.deepEqual(result.sides.b.env, { STATUS: '202' });
    assert.deepEqual(result.sides.a.command, [line]);
  });

  test('loses a variable of this process that is undefined', async (t) => {
    process.env.REMOVED = 'still here';
    t.after(() => delete process.env.REMOVED);
    const env = { STATUS: '404', REMOVED: undefined };
    const { failingResponses } = await load({ command: words, cwd: folder, env, requests: 1 });
    assert.equal(failingResponses[0].body, 'undefined');
  });

  test('is that of the flags', async () => {
    const flags = ['--env', 'STATUS=203', '--cwd', folder, '-n', '5'];
    const { result } = await millraceJson([...flags, '--', ...words]);
    assert.deepEqual(result.statusCodes, { 203: 5 });
  });
});

test('a folder that is none, or settings without a command, are refused by all alike', async () => {
  const sides = { a: {}, b: {} };
  for (const [name, run] of Object.entries({ load, capacity, explain })) {
    await assert.rejects(
      run({ command: line, cwd: join(folder, 'none') }),
      {
        code: 'ERR_MILLRACE_USAGE',
        message: `cwd must be a directory (got '${join(folder, 'none')}')`,
      },
      name,
    );
    await assert.rejects(
      run({ url: 'http://127.0.0.1:9/', env: {} }),
      {
        code: 'ERR_MILLRACE_USAGE',
        message: 'env needs a command: a server that runs already keeps its own',
      },
      name,
    );
  }
  await assert.rejects(compare({ command: line, cwd: join(folder, 'none'), ...sides }), {
    message: `the folder of A must be a directory (got '${join(folder, 'none')}')`,
  });
});
