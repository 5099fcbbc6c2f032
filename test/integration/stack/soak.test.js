// Clients of every kind at once, every answer compared, while the collector runs as it hardly ever does, and what is left.
import { test } from 'node:test';
import { soak } from '../../fixtures/stack/soak.js';

const LIMIT = { timeout: 120_000, skip: process.platform !== 'linux' };

test('nothing is left of a mix of clients', LIMIT, async () => {
  await soak({ seconds: 3, firstSeconds: 1 });
});

for (const [name, settings] of [
  ['in every 30th request', { collectEvery: 30 }],
  ['after every so many allocations', { flags: ['--gc-interval=2000'] }],
  ['moving all that can move', { flags: ['--stress-compaction', '--gc-interval=20000'] }],
]) {
  test(`garbage is collected ${name}`, LIMIT, async () => {
    await soak({ seconds: 2, firstSeconds: 1, ...settings });
  });
}
