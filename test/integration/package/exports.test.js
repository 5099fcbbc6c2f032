// The package as npm would publish it, in an empty folder: each of its entries is used from ESM, CommonJS and TypeScript.
// test/slow/package.test.js does more of it, after npm has installed the package.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { testEntries } from '../../fixtures/package/checks.js';
import { link, linkAddon, pack, root, unpack } from '../../fixtures/package/pack.js';
import { FEW_TYPED_PROGRAMS } from '../../fixtures/package/types.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-exports-'));

before(async () => {
  const { tarball } = await pack(root, folder);
  await unpack(tarball, 'millrace', folder);
  linkAddon(folder);
  link(folder, 'undici', 'pprof-format', '@types/node', 'undici-types');
});

after(() => rmSync(folder, { recursive: true, force: true }));

describe('the packed package', { concurrency: 2 }, () => testEntries(folder, FEW_TYPED_PROGRAMS));
