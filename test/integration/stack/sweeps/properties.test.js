// Properties that applications give to servers, sockets, requests and responses, by the stack's names among others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outdated, unlisted } from '../../../fixtures/stack/sweeps/differences.js';
import { sweep } from '../../../fixtures/stack/sweeps/run.js';

test('properties of an application keep their values, and the server answers', async () => {
  const seen = await sweep('properties.js', { parts: 23, processes: 8 });
  assert.ok(Object.keys(seen.plain).length > 150);
  assert.equal(unlisted('own properties', seen), '');
  assert.equal(outdated('own properties', seen), '');
});
