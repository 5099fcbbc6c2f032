// Applications that are started with flags of Node's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ends } from '../../../fixtures/stack/comparison/run-both.js';

const [MAJOR, MINOR] = process.versions.node.split('.').map(Number);
const limits = { timeout: 60_000 };
const permission =
  MAJOR > 22 || (MAJOR === 22 && MINOR >= 13) ? '--permission' : '--experimental-permission';

const neutral = ({ code, stdout, stderr }) => ({
  code,
  stdout,
  stderr: stderr.replace(/\(node:\d+\)/g, '(node:N)'),
});

async function same(flags, ...args) {
  const { plain, stack } = await ends('process/node-flags.cjs', { flags, args });
  assert.deepEqual(neutral(stack), neutral(plain));
}

for (const [flags, ...args] of [
  [['--pending-deprecation', '--throw-deprecation']],
  [['--trace-warnings', '--trace-uncaught'], 'throw'],
  [['--unhandled-rejections=strict', '--enable-source-maps'], 'reject'],
  [['--frozen-intrinsics', '--disable-proto=throw']],
  [['--disable-proto=delete', '--disallow-code-generation-from-strings']],
  [['--max-http-header-size=1000', '--stack-trace-limit=0'], 'throw'],
  [['--max-http-header-size=65536', '--insecure-http-parser']],
  [['--jitless']],
]) {
  test(`an application behaves the same with ${flags.join(' ')}`, limits, () =>
    same(flags, ...args),
  );
}

for (const flags of [
  ['--no-addons'],
  [permission, '--allow-fs-read=*', ...(MAJOR >= 25 ? ['--allow-net'] : [])],
]) {
  test(
    `with ${flags.join(' ')} the application runs on Node's own code, and one line says so`,
    limits,
    async () => {
      const { plain, stack } = await ends('process/node-flags.cjs', { flags });
      assert.deepEqual({ ...neutral(stack), stderr: '' }, { ...neutral(plain), stderr: '' });
      const more = neutral(stack).stderr.replace(neutral(plain).stderr, '');
      assert.match(
        more,
        /^(?:.*\n){0,2}millrace: this process runs on Node's own HTTP code: no addon may be loaded here .*\n/,
      );
    },
  );
}
