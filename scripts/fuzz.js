// Builds the fuzz targets with the address sanitizer and runs each for so many seconds; needs a nightly compiler of Rust.
//
//   npm run fuzz                     all targets, a minute each
//   npm run fuzz -- stack 600        one of them, ten minutes
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, step } from './step.js';

/** The targets, with their dictionaries; `null`: a target has none. */
const DICTIONARIES = {
  cache: 'cache',
  following: 'response',
  hpack: null,
  http2: 'http2',
  pkcs12: 'pkcs12',
  request: 'request',
  response: 'response',
  sharing_messages: 'prefix',
  stack: 'request',
  streams: 'http2',
  template: 'template',
};
const TARGET = 'x86_64-unknown-linux-gnu';
// As cargo-fuzz: what libFuzzer needs to know of which code has run, and what was compared with what.
const FLAGS = [
  '-Zsanitizer=address',
  '--cfg fuzzing',
  '-Cdebug-assertions',
  '-Ccodegen-units=1',
  '-Cpasses=sancov-module',
  '-Cllvm-args=-sanitizer-coverage-level=4',
  '-Cllvm-args=-sanitizer-coverage-inline-8bit-counters',
  '-Cllvm-args=-sanitizer-coverage-pc-table',
  '-Cllvm-args=-sanitizer-coverage-trace-compares',
];

const args = process.argv.slice(2);
const seconds = args.find((arg) => /^\d+$/.test(arg)) ?? '60';
const named = args.filter((arg) => arg !== seconds);
const targets = named.length > 0 ? named : Object.keys(DICTIONARIES);
const unknown = targets.find((name) => !(name in DICTIONARIES));
if (unknown !== undefined) {
  console.error(`'${unknown}' is no fuzz target; use ${Object.keys(DICTIONARIES).join(', ')}`);
  process.exit(2);
}

process.env.RUSTFLAGS = FLAGS.join(' ');
// What they do not free is theirs: targets keep reactors from one input to the next.
process.env.ASAN_OPTIONS ??= 'detect_leaks=0';
const folder = process.env.CARGO_TARGET_DIR ?? join(root, 'fuzz', 'target');
const build = ['+nightly', 'build', '--quiet', '--release', '--manifest-path', 'fuzz/Cargo.toml'];
const bins = targets.flatMap((name) => ['--bin', name]);
const options = ['--target', TARGET, '--target-dir', folder, ...bins];
let failed = !(await step('build', 'cargo', [...build, ...options]));
for (const name of failed ? [] : targets) {
  const corpus = join(root, 'fuzz', 'corpus', name);
  const artifacts = join(root, 'fuzz', 'artifacts', name);
  for (const path of [corpus, artifacts]) mkdirSync(path, { recursive: true });
  const words = DICTIONARIES[name];
  const dictionary = words === null ? [] : [`-dict=fuzz/${words}.dict`];
  const limits = [`-max_total_time=${seconds}`, `-artifact_prefix=${artifacts}/`];
  const binary = join(folder, TARGET, 'release', name);
  failed = !(await step(name, binary, [...dictionary, ...limits, corpus])) || failed;
}
process.exitCode = failed ? 1 : 0;
