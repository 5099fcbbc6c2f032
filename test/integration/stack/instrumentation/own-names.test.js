// What an application calls as the stack calls something of its own is the application's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer } from 'millrace/http';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('properties and options of an application keep their values as with Node', {
  timeout: 60_000,
}, async () => {
  assert.equal(differences(await both('process/colliding-names.js')), '');
});

/** The warnings of one turn. */
async function warnings(action) {
  const found = [];
  const listener = ({ message }) => found.push(message);
  process.on('warning', listener);
  action();
  await new Promise(setImmediate);
  process.off('warning', listener);
  return found;
}

test('a number that a limit does not accept is ignored, with one warning', async () => {
  const server = createServer();
  const found = await warnings(() => {
    server.minSendRate = -1;
    server.minSendRate = -2;
    createServer({ minSendRate: Number.NaN });
  });
  assert.deepEqual(found, [
    'millrace: server.minSendRate must be a number of bytes per second, 0 or more (got -1); the value is ignored',
  ]);
  assert.equal(server.minSendRate, 0);
});

test('a misspelled setting of the cache is named in a warning', async () => {
  // @ts-expect-error: there is no such setting
  const found = await warnings(() => createServer({ cache: { duratoin: 10 } }));
  assert.deepEqual(found, [
    'millrace: cache.duratoin is an unknown setting; did you mean duration?; the setting is ignored',
  ]);
});
