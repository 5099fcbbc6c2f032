// What the run of all tests comes to: `scripts/test.js` in a project of its own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const COPIED = [
  ...['scripts/test.js', 'scripts/tests', 'scripts/step.js', 'scripts/progress-line.js'],
  'scripts/cargo-profile.js',
  'test/fixtures/retry.js',
];
const good = "import { test } from 'node:test'; test('holds', () => {});";
const bad = "import { test } from 'node:test'; test('breaks', () => { throw new Error('so'); });";

/** A test that is made again so many times. */
const again = (times) => `
  import { reportRetry } from '../fixtures/retry.js';
  import { test } from 'node:test';
  test('holds at last', () => {
    for (let n = 0; n < ${times}; n++) reportRetry(new Error('too late\\nand more'));
  });`;

/** The exit code, totals and lines of a run over these files of `test/`. */
function run(t, files, args = [], commands = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tests-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of COPIED) cpSync(join(root, name), join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, 'test', name)), { recursive: true });
    writeFileSync(join(folder, 'test', name), text);
  }
  for (const [name, text] of Object.entries(commands)) {
    writeFileSync(join(folder, name), text, { mode: 0o755 });
  }
  // That of the tests that this one is among.
  const { NODE_TEST_CONTEXT: _, MILLRACE_TEST_RETRIES: __, ...env } = process.env;
  const kinds = args.length > 0 ? args : ['unit', 'timing'].filter((kind) => hasKind(files, kind));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(folder, 'scripts', 'test.js'), ...kinds],
    {
      ...{ cwd: folder, encoding: 'utf8' },
      env: { ...env, PATH: `${folder}${delimiter}${env.PATH}` },
    },
  );
  const total = (name) => Number(stdout.match(new RegExp(`^# ${name} (\\d+)$`, 'm'))?.[1]);
  const plans = stdout.match(/^1\.\..*$/gm);
  return { status, stdout, stderr, totals: [total('tests'), total('pass')], plans };
}

/** Stands for cargo: the tests of one workspace fail. */
const CARGO = `#!/bin/sh
case "$*" in
  *simulation*) echo "a seed fails"; exit 101 ;;
  *) echo "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured" ;;
esac
`;

function hasKind(files, kind) {
  return Object.keys(files).some((name) => name.startsWith(`${kind}/`));
}

describe('a run of tests', () => {
  test('has one summary of all kinds, with its times and slowest tests', (t) => {
    const files = { 'unit/a.test.js': good, 'unit/b/c.test.js': good, 'timing/a.test.js': good };
    const { status, totals, plans, stdout } = run(t, files);
    assert.equal(status, 0, stdout);
    assert.deepEqual(totals, [3, 3]);
    assert.deepEqual(plans, ['1..3']);
    assert.match(stdout, /^# time: unit \d+ s, timing \d+ s; in all \d+ s$/m);
    assert.match(
      stdout,
      /^# the slowest tests:\n(# +\d+\.\d s {2}(unit|timing)\/\S+: holds\n){3}/m,
    );
    assert.match(stdout, /^# measured again: 0 /m);
  });

  test('has the tests of Rust first, and those of models before what is timed', {
    skip: process.platform === 'win32',
  }, (t) => {
    const files = { 'unit/a.test.js': good, 'timing/a.test.js': good };
    const args = ['rust', 'unit', 'timing'];
    const { status, totals, plans, stdout } = run(t, files, args, { cargo: CARGO });
    assert.equal(status, 1);
    assert.deepEqual(plans, ['1..5']);
    // Ignored tests count, as does a failure that cargo does not count.
    assert.deepEqual(totals, [9, 6]);
    const names = stdout.match(/^(not )?ok \d+ - .*$/gm);
    assert.deepEqual(names, [
      'ok 1 - cargo test --workspace',
      'ok 2 - holds',
      'ok 3 - cargo test of loom/',
      'not ok 4 - cargo test of simulation/',
      'ok 5 - holds',
    ]);
    assert.match(stdout, /a seed fails/);
  });

  for (const failing of ['unit/a.test.js', 'timing/a.test.js']) {
    test(`fails where ${failing} does, with its error`, (t) => {
      const files = { 'unit/a.test.js': good, 'timing/a.test.js': good, [failing]: bad };
      const { status, totals, plans, stdout } = run(t, files);
      assert.equal(status, 1);
      assert.deepEqual(totals, [2, 1]);
      assert.deepEqual(plans, ['1..2']);
      assert.match(stdout, /error: 'so'/);
    });
  }

  test('fails where a file cannot be loaded', (t) => {
    const files = { 'unit/a.test.js': good, 'timing/a.test.js': "import './none.js';" };
    const { status, totals } = run(t, files);
    assert.equal(status, 1);
    assert.deepEqual(totals, [2, 1]);
  });

  test('fails where a file ends badly though its tests hold', (t) => {
    const ends = `${good} process.on('exit', () => { process.exitCode = 3; });`;
    const { status, totals, plans } = run(t, { 'unit/a.test.js': good, 'timing/a.test.js': ends });
    assert.equal(status, 1);
    assert.deepEqual(plans, [`1..${totals[0]}`]);
  });

  test('fails where the process of a kind is killed, and goes on with the others', (t) => {
    const kills = `${good} process.kill(process.ppid, 'SIGKILL'); setInterval(() => {}, 1000);`;
    const { status, totals, stdout } = run(t, {
      'unit/a.test.js': kills,
      'timing/a.test.js': good,
    });
    assert.equal(status, 1);
    assert.equal(totals[0], totals[1] + 1, stdout);
    assert.match(stdout, /^not ok \d+ - the tests on \S+ ended with SIGKILL$/m);
    assert.match(stdout, /^ok \d+ - holds$/m);
  });

  test('refuses another Node.js where no test depends on its version', (t) => {
    const { status, stderr } = run(t, { 'unit/a.test.js': good }, ['unit', '--node', '26']);
    assert.equal(status, 2);
    assert.match(
      stderr,
      /^test: --node 26: none of these tests depends on the version of Node.js\n$/,
    );
  });

  test('tells what was measured again, and accepts five', (t) => {
    const five = run(t, { 'timing/a.test.js': again(5) });
    assert.equal(five.status, 0, five.stdout);
    assert.match(
      five.stdout,
      /^# measured again: 5 .*\n(# {3}timing\/a\.test\.js: too late\n){5}/m,
    );
    assert.equal(run(t, { 'timing/a.test.js': again(6) }).status, 1);
  });

  test('of a folder or a file is of its tests alone', (t) => {
    const files = { 'unit/a/a.test.js': good, 'unit/b.test.js': bad, 'timing/c.test.js': bad };
    const { status, totals } = run(t, files, [join('test', 'unit', 'a')]);
    assert.equal(status, 0);
    assert.deepEqual(totals, [1, 1]);
  });

  test('reports an argument without tests in one line', (t) => {
    const { status, stdout, stderr } = run(t, { 'unit/a.test.js': good }, ['unti']);
    assert.equal(status, 2);
    assert.equal(stdout, '');
    assert.match(stderr, /^test: 'unti' contains no tests; use rust, unit, .*\n$/);
  });
});
