// What `npm test` can run: the kinds of tests, and the files that a name or a path stands for.
import { readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { root } from '../step.js';

/**
 * The kinds in the order in which they run: each is a folder below `test/`, of whose files so many run at once. What is
 * timed runs alone; what takes long only where it is asked for.
 */
export const KINDS = {
  unit: { atOnce: availableParallelism() },
  integration: { atOnce: 2 },
  timing: { atOnce: 1 },
  slow: { atOnce: 1, isOptional: true },
};

/** The tests of the Rust crates, which `cargo` runs. */
export const RUST = 'rust';

/** Integration tests that depend on the version of Node.js: the stack and the deadlines stand in for its own code. */
const OF_VERSION = ['integration/stack', 'integration/deadlines'].map((name) =>
  join(...name.split('/')),
);

const tests = join(root, 'test');

/**
 * What the arguments stand for, names of kinds or paths below `test/`; without any, all that is not optional. Gives whether
 * Rust's tests are among it, and the files by kind. Throws an Error of one line at what is neither.
 */
export function chosen(args) {
  const all = Object.keys(KINDS).flatMap((kind) => testFiles(join(tests, kind)));
  const usual = [RUST, ...Object.keys(KINDS).filter((kind) => !KINDS[kind].isOptional)];
  const names = args.length > 0 ? args : usual;
  const files = new Set(
    names.filter((name) => name !== RUST).flatMap((name) => filesOf(name, all)),
  );
  const byKind = Object.keys(KINDS).map((kind) => ({
    kind,
    files: all.filter((file) => files.has(file) && kindOf(file) === kind),
  }));
  return { rust: names.includes(RUST), parts: byKind.filter((part) => part.files.length > 0) };
}

/** Whether a file is to run on other versions of Node.js, too. */
export function dependsOnVersion(file) {
  return OF_VERSION.some((folder) => relative(tests, file).startsWith(folder + sep));
}

/** A test file as messages name it: its path below `test/`, with slashes. */
export function nameOf(file) {
  return relative(tests, file).split(sep).join('/');
}

function kindOf(file) {
  return relative(tests, file).split(sep)[0];
}

function filesOf(name, all) {
  const path = name in KINDS ? join(tests, name) : resolve(name);
  const files = all.filter((file) => file === path || file.startsWith(path + sep));
  if (files.length > 0) return files;
  const kinds = [RUST, ...Object.keys(KINDS)].join(', ');
  throw new Error(`'${name}' holds no tests; accepted: ${kinds}, or files and folders of test/`);
}

function testFiles(folder) {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  const names = readdirSync(folder, { recursive: true }).filter((name) =>
    name.endsWith('.test.js'),
  );
  return names.sort().map((name) => join(folder, name));
}
