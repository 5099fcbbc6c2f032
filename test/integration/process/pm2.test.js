// Variables of a worker in the cluster mode of PM2, which sets them behind what `--import` loads.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const PROGRAM = `
  import { createServer } from 'node:http';
  import { isNative } from 'millrace/http';
  import { limitsFor } from 'millrace/deadlines';
  const server = createServer().listen(0, () => {
    console.log(JSON.stringify([isNative(server), limitsFor('a.test').total]));
    server.close();
  });`;

function run(pm2) {
  const { MILLRACE_STACK: _, MILLRACE_DEADLINE_TOTAL: __, ...env } = process.env;
  const preloads = ['millrace/register', 'millrace/deadlines/register'];
  const args = [
    ...preloads.flatMap((name) => ['--import', name]),
    ...['--input-type=module', '-e', PROGRAM],
  ];
  const options = { cwd: root, encoding: 'utf8', env: { ...env, ...(pm2 && { pm2_env: pm2 }) } };
  const { stdout, stderr } = spawnSync(process.execPath, args, options);
  return [stderr, JSON.parse(stdout)];
}

test('the stack and deadlines read the variables of a worker of PM2', () => {
  const variables = { MILLRACE_STACK: 'node', MILLRACE_DEADLINE_TOTAL: '700ms', PORT: 80 };
  assert.deepEqual(run(JSON.stringify({ name: 'app', ...variables })), ['', [false, 700]]);
});

test('without PM2, or with another variable of that name, nothing is set', () => {
  for (const value of [undefined, 'no JSON', 'null', '[1]', '"MILLRACE_STACK"']) {
    assert.deepEqual(run(value), ['', [true, 3000]], String(value));
  }
});
