// The suites of others: the public tests for HTTP caches, and Node's own tests of HTTP.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
/** Node's `test/` folder of the same major version: node-suite/README.md says where there is one. */
const { NODE_TEST_TREE } = process.env;
const noTree = NODE_TEST_TREE === undefined && 'NODE_TEST_TREE names no folder';

test('the public tests for HTTP caches: exactly those fail that are listed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-cache-suite-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  await run('npm', ['pack', 'http-cache-tests@0.4.5'], { cwd: folder });
  await run('tar', ['xzf', 'http-cache-tests-0.4.5.tgz'], { cwd: folder });
  const { stdout } = await run(
    process.execPath,
    ['scripts/cache-suite.js', join(folder, 'package')],
    { cwd: root },
  );
  assert.match(stdout, /required/);
});

test("Node's own tests: exactly those fail that are listed", { skip: noTree }, async () => {
  await run(process.execPath, ['scripts/node-suite.js', NODE_TEST_TREE, '--jobs', '4'], {
    cwd: root,
    maxBuffer: 2 ** 26,
  });
});
