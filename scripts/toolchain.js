// What the native addon is built with: Rust, and a C compiler for the cryptography under TLS.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './step.js';

/** One line that says what to install, or undefined where nothing is missing. */
export async function missingTool() {
  const needed = /^rust-version = "(.+)"/m.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'))[1];
  const found = await rustVersion();
  if (found === undefined || isOlder(found, needed)) {
    return `Rust ${needed} or later is needed, found ${found ?? 'none'}: install it with rustup (https://rustup.rs)`;
  }
  // Where the compiler is Microsoft's, it is found through the registry, not on the PATH.
  if (process.platform === 'win32') return undefined;
  const compiler = process.env.CC ?? 'cc';
  if ((await run(compiler, ['--version'])).code !== 0) {
    return `a C compiler is needed, ${compiler} does not run: install gcc or clang (Debian: build-essential, macOS: xcode-select --install)`;
  }
  return undefined;
}

async function rustVersion() {
  const { output } = await run('cargo', ['--version']);
  return /^cargo (\d+\.\d+\.\d+)/m.exec(output)?.[1];
}

function isOlder(version, needed) {
  const [major, minor] = version.split('.').map(Number);
  const [neededMajor, neededMinor] = needed.split('.').map(Number);
  return major < neededMajor || (major === neededMajor && minor < neededMinor);
}
