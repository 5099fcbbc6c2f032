// An hour of seeds for the simulation of the stack: CONTRIBUTING.md describes it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
/** For how long. A failure names its seed. */
const SECONDS = process.env.MILLRACE_SECONDS ?? '3600';

test('whatever the seed', async () => {
  const command = ['test', '--quiet', '--manifest-path', 'simulation/Cargo.toml'];
  const { stdout } = await run('cargo', [...command, '--', '--nocapture'], {
    cwd: root,
    env: { ...process.env, MILLRACE_SECONDS: SECONDS },
    maxBuffer: 2 ** 26,
  });
  const [, seeds] = /(\d+) seeds from/.exec(stdout) ?? [];
  assert(Number(seeds) > 0, stdout);
});
