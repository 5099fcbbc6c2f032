// Builds everything: the native addon, the TypeScript, the bundle of the stack, the report's assets. `npm ci` runs it.
//
//   node scripts/build.js [--dev] [--prebuilt] [flags of `napi build`]
//
// --dev builds the addon faster, but not optimized. --prebuilt takes an addon that is there, if it fits.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { addonProfile, addonWorkspace } from './cargo-profile.js';
import { cargoStep } from './cargo-step.js';
import { ageAddon, findPrebuiltAddon } from './prebuilt-addon.js';
import { root, step, tool } from './step.js';
import { findMissingTools } from './toolchain.js';

const ADDON = [
  ...['build', '--platform', '--manifest-path', 'crates/node/Cargo.toml'],
  ...['--package-json-path', 'package.json', '--output-dir', 'native'],
  ...['--no-js', '--dts', 'index.d.ts'],
];

const args = process.argv.slice(2);
const profile = args.includes('--dev') ? [] : addonProfile;
const others = args.filter((flag) => flag !== '--dev' && flag !== '--prebuilt');

const prebuilt = args.includes('--prebuilt') ? await findPrebuiltAddon() : null;
if (prebuilt !== null) console.log(`native addon: ${prebuilt} is used`);
else await requireTools();

rmSync(join(root, 'dist'), { recursive: true, force: true });
const built =
  (prebuilt !== null || (await buildAddon())) &&
  (await step('TypeScript', tool('tsc'), ['-p', '.'])) &&
  (await step('bundle of the stack', process.execPath, ['scripts/bundle-stack.js'])) &&
  (await step('report assets', process.execPath, ['scripts/copy-assets.js']));
if (!built) fail('the build failed');

async function requireTools() {
  const missing = await findMissingTools();
  if (missing) fail(`${missing}; then run this again`);
}

async function buildAddon() {
  const args = [...ADDON, ...profile, ...others, ...addonWorkspace];
  const isBuilt = await cargoStep('native addon', tool('napi'), args);
  if (isBuilt && !profile.includes('--release')) ageAddon();
  return isBuilt;
}

function fail(message) {
  console.error(`millrace: ${message}`);
  process.exit(1);
}
