// Clients of every kind at once, every answer compared, while the collector runs as it hardly ever does, and what is left.
import { test } from 'node:test';
import { isFull } from '../../../fixtures/size.js';
import { soak } from '../../../fixtures/stack/soak/soak.js';

const LIMIT = { timeout: 120_000, skip: process.platform !== 'linux' };

const COLLECTED = {
  'in every 30th request': { collectEvery: 30 },
  ...(isFull && {
    'as it wants': {},
    'after every so many allocations': { flags: ['--gc-interval=2000'] },
    'moving all that can move': { flags: ['--stress-compaction', '--gc-interval=20000'] },
  }),
};

for (const [when, settings] of Object.entries(COLLECTED)) {
  test(
    `nothing is left of a mix of clients while garbage is collected ${when}`,
    LIMIT,
    async () => {
      await soak({ seconds: isFull ? 10 : 2, firstSeconds: 1, ...settings });
    },
  );
}
