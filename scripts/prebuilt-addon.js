// An addon for this platform that is there without a build: one that somebody has put into `native`, or a package of a release.
import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { findNewest } from './newest.js';
import { root, run } from './step.js';

const SOURCES = ['crates', 'Cargo.toml', 'Cargo.lock'];
/** With another C library behind it, on Linux and Windows. */
const platform = `${process.platform}-${process.arch}`;

/**
 * Finds an addon that is newer than its sources, or of this version's package, and can be loaded. Returns its path within the
 * checkout; `null` if there is none.
 */
export async function findPrebuiltAddon() {
  for (const file of [...listBuilt().filter(isNewer), ...listInstalled()]) {
    const { code } = await run(process.execPath, ['--eval', `require(${JSON.stringify(file)})`]);
    if (code === 0) return relative(root, file);
  }
  return null;
}

/** Makes the addon that was built older than its sources: one that is not optimised is not to be kept. */
export function ageAddon() {
  for (const file of listBuilt()) utimesSync(file, 0, 0);
}

function isNewer(file) {
  return statSync(file).mtimeMs > findNewest(SOURCES);
}

function listBuilt() {
  const folder = join(root, 'native');
  return listNames(folder, `millrace.${platform}`)
    .filter((name) => name.endsWith('.node'))
    .map((name) => join(folder, name));
}

function listInstalled() {
  const version = readManifest(root).version;
  const folders = createRequire(import.meta.url).resolve.paths('@millrace/native');
  return folders
    .map((folder) => join(folder, '@millrace'))
    .flatMap((scope) => listNames(scope, `native-${platform}`).map((name) => join(scope, name)))
    .filter((folder) => existsSync(join(folder, 'package.json')))
    .filter((folder) => readManifest(folder).version === version)
    .map((folder) => join(folder, readManifest(folder).main));
}

function listNames(folder, start) {
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(start)) : [];
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}
