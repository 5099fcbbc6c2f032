// Builds at `npm ci`. npm runs this again at the first `npx millrace` in a checkout, as it then links the checkout into
// its cache, and at each `npm install` of a package that depends on the checkout: a build of the present sources is kept,
// as somebody may be using it.
import { spawnSync } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findNewest } from './newest.js';
import { root } from './step.js';

const SOURCES = ['src', 'crates', 'scripts', 'package-lock.json', 'Cargo.lock'];

if (!(isForAnother() && isBuilt())) build();

// npm packs its clone of a dependency from git, for which no package with the addon exists, so the addon is included.
if (process.env._PACOTE_NO_PREPARE_)
  rmSync(new URL('../native/.npmignore', import.meta.url), { force: true });

function build() {
  const { status } = spawnSync(process.execPath, ['scripts/build.js', '--prebuilt'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(1);
}

/** Whether npm was called for another package than this one. */
function isForAnother() {
  const { npm_command: command, INIT_CWD: cwd = root } = process.env;
  return command === 'exec' || resolve(cwd) !== resolve(root);
}

/** Whether there is a build that is newer than all sources. */
function isBuilt() {
  const built = statSync(join(root, 'dist', 'cli', 'main.js'), { throwIfNoEntry: false });
  return built !== undefined && findNewest(SOURCES) <= built.mtimeMs;
}
