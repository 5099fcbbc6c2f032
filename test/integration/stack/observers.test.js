// Who watches a server sees the same on Node's own and on the stack: events, channels, performance entries, contexts.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { REGISTER } from '../../fixtures/stack/pair.js';

const OBSERVER = fileURLToPath(new URL('../../fixtures/stack/observer.js', import.meta.url));

test('observers see the same, in the same contexts', { timeout: 60_000 }, async () => {
  const [plain, stack] = await Promise.all([observed([]), observed(['--import', REGISTER])]);
  assert.ok(stack.isNative);
  assert.ok(plain.events.length > 10 && plain.channels.length > 5 && plain.entries.length > 5);
  for (const kind of ['events', 'channels', 'entries', 'kinds', 'addresses']) {
    assert.deepEqual(stack[kind], plain[kind], kind);
  }
});

async function observed(flags) {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, OBSERVER]);
  return JSON.parse(stdout);
}
