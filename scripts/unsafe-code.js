// Refuses `unsafe` in the crates outside of the files that are there for it, and lints that permit it elsewhere.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './step.js';

/** Files and folders below `crates/` with `unsafe` code; each block has its SAFETY argument, which clippy asks for. */
const UNSAFE = [
  'node/src/ffi/',
  'share/src/socket_option.rs',
  // Allocators that count.
  'cache/tests/allocation.rs',
  'http/tests/allocated/mod.rs',
  'load/tests/allocation.rs',
];

const CODE =
  /\bunsafe\s*(?:\{|fn\b|impl\b|trait\b|extern\b)|\b(?:allow|expect|warn)\s*\(\s*unsafe_code\b/;
const ROOT = /^#!\[(?:deny|forbid)\(unsafe_code\)\]$/m;

/** Throws an Error with a line for each place. */
export function checkUnsafeCode() {
  const crates = join(root, 'crates');
  const names = readdirSync(crates, { recursive: true }).map((name) => name.replaceAll('\\', '/'));
  const sources = names.filter((name) => name.endsWith('.rs'));
  const found = sources.flatMap((name) =>
    findUnsafe(name, readFileSync(join(crates, name), 'utf8')),
  );
  if (found.length > 0) throw new Error(found.join('\n'));
}

/** Lines about what a file below `crates/` must not contain, or lacks. */
export function findUnsafe(name, source) {
  const isRoot = /^[^/]+\/src\/lib\.rs$/.test(name);
  const found = isRoot && !ROOT.test(source) ? [`crates/${name}: does not deny unsafe_code`] : [];
  if (UNSAFE.some((place) => name.startsWith(place))) return found;
  for (const [index, line] of source.split('\n').entries()) {
    const code = line.replace(/\/\/.*/, '');
    if (CODE.test(code)) found.push(`crates/${name}:${index + 1}: unsafe code: ${code.trim()}`);
  }
  return found;
}
