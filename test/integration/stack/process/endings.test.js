// However a process ends, a client gets the response that was finished before.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('a finished response is sent, and the process ends, as with Node', {
  timeout: 120_000,
}, async () => {
  assert.equal(differences(await both('process/exits-in-handlers.js')), '');
});

test('with MILLRACE_STATS_FILE a shutdown that repeats its signal ends by the signal', {
  timeout: 120_000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-endings-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const stats = join(folder, 'stats');
  process.env.MILLRACE_STATS_FILE = stats;
  t.after(() => delete process.env.MILLRACE_STATS_FILE);
  const seen = await both('process/exits-in-handlers.js');
  for (const by of ['name', 'number']) {
    assert.deepEqual(seen.stack[`signal again by its ${by}`], [null, 'SIGTERM']);
  }
  assert.ok(readFileSync(stats, 'utf8').trim().split('\n').length > 2);
});
