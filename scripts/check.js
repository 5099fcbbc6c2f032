// Quick checks while developing: formatting, lints, layers, structure, types, of tests as well, generated files, places of
// unsafe code, the packed package, unit tests. `npm test` runs the other tests.
//
//   npm run check
//   npm run check -- --no-build      uses the existing build
//   npm run check -- --no-unit       without the unit tests, as nothing else needs the addon
//   npm run check -- --no-clippy     where clippy's driver has compiled that (RUSTC_WORKSPACE_WRAPPER)
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { profile } from './cargo-profile.js';
import { checkLayers } from './layers.js';
import { checkPackedPackage } from './packed-package.js';
import { report, root, step, tool } from './step.js';
import { checkStructure } from './structure.js';
import { checkTestTypes } from './test-types.js';
import { checkUnsafeCode } from './unsafe-code.js';

// The documents have generated tables.
const documents = readdirSync(join(root, 'docs'), { recursive: true })
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name));
const GENERATED = ['Cargo.lock', 'native/index.d.ts', ...documents];
const node = process.execPath;

const before = GENERATED.map(contents);
const failed = [];

await check('Rust formatting', 'cargo', ['fmt', '--all', '--check']);
await check('Biome', tool('biome'), ['ci', '--error-on-warnings', '--colors=off']);
if (!(await report('layers', checkLayers))) failed.push('layers');
if (!(await report('structure', checkStructure))) failed.push('structure');
await check('types', tool('tsc'), ['--noEmit', '-p', '.']);
if (!process.argv.includes('--no-build')) await check('build', node, ['scripts/build.js']);
if (!(await report('types of tests', checkTestTypes))) failed.push('types of tests');
await check('reference pages', node, ['scripts/reference.js']);
if (!(await report('generated files unchanged', compareGenerated))) failed.push('generated files');
if (!(await report('unsafe code', checkUnsafeCode))) failed.push('unsafe code');
if (!process.argv.includes('--no-clippy')) {
  const clippy = ['clippy', '--quiet', ...profile, '--workspace', '--all-targets'];
  await check('clippy', 'cargo', [...clippy, '--', '-D', 'warnings']);
}
failed.push(...(await checkPackedPackage()));
if (!process.argv.includes('--no-unit')) {
  await check('unit tests', node, ['scripts/test.js', 'unit']);
}

console.log(failed.length === 0 ? 'check: all passed' : `check: failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

async function check(name, command, args) {
  if (!(await step(name, command, args))) failed.push(name);
}

function compareGenerated() {
  const changed = GENERATED.filter((file, index) => contents(file) !== before[index]);
  if (changed.length > 0) {
    throw new Error(
      `generated files were out of date and have been rewritten: ${changed.join(', ')}`,
    );
  }
}

function contents(file) {
  return readFileSync(join(root, file), 'utf8');
}
