// Builds everything: the native addon, the TypeScript, the report's assets. `npm ci` runs it.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const root = new URL('..', import.meta.url);

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error) fail(`${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

function fail(message) {
  console.error(`millrace: ${message}`);
  process.exit(1);
}

function requireRust() {
  const { status } = spawnSync('cargo', ['--version'], { stdio: 'ignore' });
  if (status !== 0) {
    fail('the native engine is built with Rust 1.88 or later, which is missing: install it from https://rustup.rs (and a C compiler: apt-get install build-essential), then run: npm run build');
  }
}

requireRust();
run('npx', ['napi', 'build', '--platform', '--release', '--esm', '--manifest-path', 'crates/node/Cargo.toml', '--package-json-path', 'package.json', '--output-dir', 'native', '--js', 'index.js', '--dts', 'index.d.ts']);
run('npx', ['tsc', '-p', '.']);
if (existsSync(new URL('scripts/vendor-charts.js', root))) run('node', ['scripts/vendor-charts.js']);
