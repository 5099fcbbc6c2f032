// When waits are observed, on a simulated server and clock.
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { computeObservedBlock, observeWaits } from '#internal/explain/phases/waits.js';

const MAX_MICROTASKS = 20;

test('waits are observed once the load has settled, and until its end', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  syncBuiltinESMExports();
  context.after(() => {
    context.mock.timers.reset();
    syncBuiltinESMExports();
  });
  const asked = [];
  /** @type {any} */
  const subject = {
    async runBlock(block) {
      asked.push(['load', block.settleMs + block.measureMs]);
      return {};
    },
    hub: {
      async command(name, { ms }) {
        asked.push([name, ms]);
        return [];
      },
    },
  };
  const length = { settleMs: 300, measureMs: 1000 };
  const during = computeObservedBlock(700, length);
  /** @type {any} */
  const budget = { blockMs: 1300, fits: () => false };
  const observed = observeWaits(subject, {
    ...{ during, length, budget },
    ...{ depth: 16, reserveMs: 0 },
  });
  const pass = async (ms) => {
    context.mock.timers.tick(ms);
    for (let turn = 0; turn < MAX_MICROTASKS; turn++) await null;
  };
  await pass(299);
  assert.deepEqual(asked, [['load', 3800]]);
  await pass(1);
  assert.deepEqual(asked, [
    ['load', 3800],
    ['waits', 3500],
  ]);
  assert.deepEqual(await observed, { paths: [], cost: null });
});
