// The commit that a result names: what CI says, otherwise what the repository of a folder says, read without git.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { readCommit } from '#internal/environment/commit.js';

const root = mkdtempSync(join(tmpdir(), 'millrace-commit-'));
after(() => rmSync(root, { recursive: true }));

const HASH = '0123456789abcdef0123456789abcdef01234567';
const OTHER = 'f'.repeat(40);

/** A folder with these files. */
function folderWith(files) {
  const folder = mkdtempSync(join(root, 'folder-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** @type {[name: string, files: Record<string, string>, below: string, expected: string | null][]} */
const FOLDERS = [
  ['a detached HEAD', { '.git/HEAD': `${HASH}\n` }, '.', HASH],
  [
    'a branch, from a folder below',
    { '.git/HEAD': 'ref: refs/heads/a/b\n', '.git/refs/heads/a/b': `${HASH}\n`, 'src/x': '' },
    'src',
    HASH,
  ],
  [
    'a packed branch',
    {
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/packed-refs': `# pack-refs with: peeled\n${OTHER} refs/heads/xmain\n${HASH} refs/heads/main\n^${OTHER}\n`,
    },
    '.',
    HASH,
  ],
  [
    'a worktree',
    {
      'tree/.git': 'gitdir: ../main/.git/worktrees/tree\n',
      'main/.git/worktrees/tree/HEAD': 'ref: refs/heads/topic\n',
      'main/.git/worktrees/tree/commondir': '../..\n',
      'main/.git/refs/heads/topic': `${HASH}\n`,
    },
    'tree',
    HASH,
  ],
  ['a branch without a commit', { '.git/HEAD': 'ref: refs/heads/main\n' }, '.', null],
  ['a HEAD that is none', { '.git/HEAD': 'x' }, '.', null],
];

for (const [name, files, below, expected] of FOLDERS) {
  test(`of ${name}`, () => {
    assert.equal(readCommit(join(folderWith(files), below), {}), expected);
  });
}

test('of CI comes first; a variable that is no hash does not count', () => {
  const folder = folderWith({ '.git/HEAD': HASH });
  assert.equal(readCommit(folder, { GITHUB_SHA: OTHER.toUpperCase() }), OTHER);
  assert.equal(readCommit(folder, { CI_COMMIT_SHA: OTHER }), OTHER);
  assert.equal(readCommit(folder, { GITHUB_SHA: 'main', GIT_COMMIT: '' }), HASH);
});
