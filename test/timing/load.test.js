// All tests that watch the clock, in one file: one after the other, so that none disturbs another.
import { describe } from 'node:test';

for (const subject of ['latency', 'gap', 'schedule', 'generator']) {
  await describe(subject, { timeout: 120_000 }, () => import(`../fixtures/truth/${subject}.js`));
}
