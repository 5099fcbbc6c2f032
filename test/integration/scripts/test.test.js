// What the run of all tests comes to: `scripts/test.js` in a project of its own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SCRIPTS = ['test.js', 'step.js'];
const good = "import { test } from 'node:test'; test('holds', () => {});";
const bad = "import { test } from 'node:test'; test('breaks', () => { throw new Error('so'); });";

/** The exit code, and the last lines, of a run over these files. */
function run(t, files) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tests-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['scripts', 'test']) mkdirSync(join(folder, name));
  for (const name of SCRIPTS) {
    const from = fileURLToPath(new URL(`../../../scripts/${name}`, import.meta.url));
    cpSync(from, join(folder, 'scripts', name));
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'test', name), text);
  // That of the tests that this one is among.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = [join(folder, 'scripts', 'test.js')];
  const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  const total = (name) => Number(stdout.match(new RegExp(`^# ${name} (\\d+)$`, 'm'))?.[1]);
  return {
    status,
    tests: total('tests'),
    passed: total('pass'),
    plans: stdout.match(/^1\.\..*$/gm),
  };
}

test('both parts have one summary', (t) => {
  const found = run(t, { 'a.test.js': good, 'b.test.js': good, 'stack-a.test.js': good });
  assert.deepEqual(found, { status: 0, tests: 3, passed: 3, plans: ['1..3'] });
});

for (const failing of ['a.test.js', 'stack-a.test.js']) {
  test(`a failure in ${failing} is one of the whole`, (t) => {
    const found = run(t, { 'a.test.js': good, 'stack-a.test.js': good, [failing]: bad });
    assert.deepEqual(found, { status: 1, tests: 2, passed: 1, plans: ['1..2'] });
  });
}

test('a file that cannot be loaded is a failure', (t) => {
  const found = run(t, { 'a.test.js': good, 'stack-a.test.js': "import './none.js';" });
  assert.deepEqual([found.status, found.tests, found.passed], [1, 2, 1]);
});

test('a file that ends badly though its tests hold is a failure', (t) => {
  const ends = `${good} process.on('exit', () => { process.exitCode = 3; });`;
  const found = run(t, { 'a.test.js': good, 'stack-a.test.js': good, 'stack-b.test.js': ends });
  assert.equal(found.status, 1);
  assert.deepEqual(found.plans, [`1..${found.tests}`]);
});
