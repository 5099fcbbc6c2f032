// Pools of real drivers: for an experiment they get more connections, as far as the database has room, and lose them again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { served } from '../fixtures/explain/probed.js';
import { installed } from '../fixtures/packages.js';
import { withPostgres } from '../fixtures/probe/postgres-server.js';

const service = fileURLToPath(new URL('../fixtures/probe/pooled.mjs', import.meta.url));
const { folder, reason } = await installed('database-pools', {
  'generic-pool': '3.9.0',
  pg: '8.16.3',
  'sequelize-pool': '7.1.0',
  tarn: '3.0.2',
});
const skip = reason ?? false;
const DRIVERS = ['pg', 'tarn', 'generic-pool', 'sequelize-pool'];

/** Runs the service over a database, with the number of connections that requests to it open. */
function pooled(driver, maxConnections, use) {
  return withPostgres({ maxConnections }, (database) => {
    const env = { PACKAGES: folder, DRIVER: driver, PORT: `${database.port}` };
    return served({ service, env }, (context) => {
      const measure = async () => {
        database.most = database.open;
        await context.drive('/', { connections: 12, requests: 120, samples: false });
        return [database.most, database.open];
      };
      return use({ ...context, database, measure });
    });
  });
}

for (const driver of DRIVERS) {
  test(`${driver}: twice the connections for a while`, { skip }, async () => {
    await pooled(driver, 100, async ({ hub, database, measure }) => {
      assert.deepEqual(await measure(), [2, 2]);
      const [scaled] = await hub.command('databasePools', { factor: 2, processes: 1 });
      assert.deepEqual(
        scaled.raised.map(({ from, to }) => [from, to]),
        [[2, 4]],
      );
      assert.deepEqual(scaled.refused, []);
      assert.deepEqual(await measure(), [4, 4]);
      await hub.command('databasePools', { factor: 1, processes: 1 });
      await falls(database, 2);
      assert.deepEqual(await measure(), [2, 2]);
    });
  });
}

test('no more connections than the database has room for', { skip }, async () => {
  await pooled('pg', 8, async ({ hub, measure }) => {
    await measure();
    const [scaled] = await hub.command('databasePools', { factor: 2, processes: 1 });
    assert.deepEqual(scaled.raised, []);
    assert.match(scaled.refused.join(), /^the pool of pg: its database has room for 3 further/);
    assert.deepEqual(await measure(), [2, 2]);
  });
});

test('the end of millrace restores the pool while it is in use', { skip }, async () => {
  await pooled('pg', 100, async ({ hub, database, measure }) => {
    await measure();
    await hub.command('databasePools', { factor: 2, processes: 1 });
    const driven = measure();
    await reaches(database, 4);
    await hub.close();
    await driven;
    await falls(database, 2);
    assert.deepEqual(await measure(), [2, 2]);
  });
});

/** Waits until a database has so many connections. */
async function reaches(database, open) {
  while (database.open < open) await new Promise(setImmediate);
}

async function falls(database, open) {
  while (database.open > open) await new Promise(setImmediate);
}
