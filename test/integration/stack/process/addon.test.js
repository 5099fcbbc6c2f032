// The addon under arguments of any kind: each call may throw, none may end the process.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isFull } from '../../../fixtures/size.js';

const PROGRAM = fileURLToPath(
  new URL('../../../fixtures/stack/addon/addon-calls.js', import.meta.url),
);
const CALLS = 4000;

for (const seed of Array.from({ length: isFull ? 20 : 2 }, (_, n) => n + 1)) {
  test(`${CALLS} random calls of the addon with seed ${seed} return or throw`, {
    timeout: 60_000,
  }, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'millrace-'));
    t.after(() => rmSync(directory, { recursive: true }));
    // Files: calls that take descriptors have nothing of them.
    const [said, log] = ['said', 'log'].map((name) => join(directory, name));
    const stdio = ['ignore', 'ignore', openSync(said, 'w'), openSync(log, 'w')];
    const env = { ...process.env, NODE_OPTIONS: '', TMPDIR: directory };
    const child = spawn(process.execPath, [PROGRAM, `${seed}`, `${CALLS}`], { stdio, env });
    t.after(() => child.kill('SIGKILL'));
    const [code, signal] = await once(child, 'exit');
    const last = readFileSync(log, 'utf8').trimEnd().split('\n').at(-1);
    const text = readFileSync(said, 'utf8');
    assert.deepEqual([code, signal], [0, null], `after ${last}: ${text}`);
    assert.doesNotMatch(text, /panicked/, `after ${last}`);
  });
}
