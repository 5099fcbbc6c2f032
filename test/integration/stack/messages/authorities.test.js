// The authorities of a server without the option `ca` are those that Node trusts by default.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { selfSignedCertificate } from '#internal/native/addon.js';
import { both, differences } from '../../../fixtures/stack/comparison/run-both.js';

test('a change of the default authorities counts as with Node', { timeout: 60_000 }, async () => {
  assert.equal(differences(await both('messages/default-authorities.js')), '');
});

test('authorities of NODE_EXTRA_CA_CERTS are trusted as with Node', {
  timeout: 60_000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-authorities-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const client = await selfSignedCertificate(['client']);
  const [identity, extra] = ['identity.json', 'extra.pem'].map((name) => join(folder, name));
  writeFileSync(identity, JSON.stringify(client));
  writeFileSync(extra, client.cert);
  process.env.NODE_EXTRA_CA_CERTS = extra;
  t.after(() => delete process.env.NODE_EXTRA_CA_CERTS);
  const seen = await both('messages/default-authorities.js', { args: [identity] });
  assert.deepEqual(seen.plain.before, [true, null]);
  assert.equal(differences(seen), '');
});
