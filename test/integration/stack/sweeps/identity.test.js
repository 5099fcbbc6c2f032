// Wrappers and observers of servers, sockets, requests and responses: they get and see what plain Node has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outdated, unlisted } from '../../../fixtures/stack/sweeps/differences.js';
import { sweep } from '../../../fixtures/stack/sweeps/run.js';

test('objects used directly, through a Proxy and by Object.create give what plain Node gives', async () => {
  const seen = await sweep('identity.js', { parts: 53, processes: 8 });
  assert.ok(Object.keys(seen.plain).length > 1_000);
  assert.equal(unlisted('identity', seen), '');
  assert.equal(outdated('identity', seen), '');
});

test('connections that are handled through wrappers go as on plain Node', async () => {
  const seen = await sweep('documented.js', { args: ['wrapped'], parts: 11, processes: 2 });
  assert.ok(Object.keys(seen.plain).length > 300);
  assert.equal(unlisted('wrapped', seen), '');
  assert.equal(outdated('wrapped', seen), '');
});
