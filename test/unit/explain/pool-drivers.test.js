// What the probe does with the pools of an application: a failure of theirs is never one of the application's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { POOL_DRIVERS } from '#internal/probe/dependencies/pool-drivers.cjs';

const fails = async () => {
  throw new Error('the database has gone');
};

/** A pool of generic-pool with one idle connection, whose database has gone. */
function poolWith(methods) {
  const driver = POOL_DRIVERS.find(({ path }) =>
    path.test('/node_modules/generic-pool/lib/Pool.js'),
  );
  assert.ok(driver);
  const pool = {
    _config: { max: 4 },
    size: 4,
    available: 1,
    acquire: async () => ({}),
    ...methods,
  };
  return driver.listPools(/** @type {never} */ (pool))[0];
}

test('connections that cannot be closed leave no rejection without a handler', async () => {
  const unhandled = [];
  const note = (reason) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  try {
    poolWith({ destroy: fails }).closeIdle(2);
    poolWith({ acquire: fails }).closeIdle(2);
    await assert.rejects(poolWith({ release: fails }).readRoom());
    await turn();
    await turn();
  } finally {
    process.off('unhandledRejection', note);
  }
  assert.deepEqual(unhandled, []);
});
