// The tools that build the native addon: Rust, and a C compiler for the cryptography under TLS.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './step.js';

/** Describes missing tools and how to install them, in one line; empty if none is missing. */
export async function findMissingTools() {
  const missing = [await findMissingRust(), await findMissingCompiler()];
  return missing.filter((line) => line !== undefined).join('; ');
}

async function findMissingRust() {
  const needed = /^rust-version = "(.+)"/m.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'))[1];
  const found = await readRustVersion();
  if (found !== undefined && !isOlder(found, needed)) return undefined;
  return `Rust ${needed} or later is needed, found ${found ?? 'none'}: install it with rustup (https://rustup.rs)`;
}

async function findMissingCompiler() {
  // Microsoft's compiler is found through the registry, not on the PATH.
  if (process.platform === 'win32') return undefined;
  // It may be a command with arguments, such as `ccache cc`.
  const [compiler, ...args] = (process.env.CC || 'cc').trim().split(/\s+/);
  if ((await run(compiler, [...args, '--version'])).code === 0) return undefined;
  return `a C compiler is needed, ${compiler} does not run: install gcc or clang (Debian: build-essential, macOS: xcode-select --install)`;
}

async function readRustVersion() {
  const { output } = await run('cargo', ['--version']);
  return /^cargo (\d+\.\d+\.\d+)/m.exec(output)?.[1];
}

function isOlder(version, needed) {
  const [major, minor] = version.split('.').map(Number);
  const [neededMajor, neededMinor] = needed.split('.').map(Number);
  return major < neededMajor || (major === neededMajor && minor < neededMinor);
}
