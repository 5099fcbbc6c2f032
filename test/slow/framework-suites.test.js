// The frameworks' own tests, every third file by name: over HTTP/2 on the stack, by a client that is translated
// (frameworks/over-http2.cjs), the same pass as over HTTP/1.1 on Node's own server.
//
//   FRAMEWORK_SUITES=<folder> node --test test/slow/framework-suites.test.js
//
// The folder has clones with installed packages, by these names: express4, express5, koa, fastify.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { REGISTER } from '../fixtures/stack/comparison/two-processes.js';

const { FRAMEWORK_SUITES } = process.env;
const skip = FRAMEWORK_SUITES === undefined && 'FRAMEWORK_SUITES names no folder';
const TRANSLATOR = fileURLToPath(new URL('frameworks/over-http2.cjs', import.meta.url));

const mocha = ['--require', 'test/support/env', '--exit', '--reporter', 'tap'];
const express = { folders: ['test', 'test/acceptance'], ends: '.js' };
const SUITES = {
  express4: { ...express, program: ['node_modules/mocha/bin/_mocha', ...mocha] },
  express5: { ...express, program: ['node_modules/mocha/bin/mocha.js', ...mocha] },
  koa: { folders: ['__tests__'], ends: '.js', program: ['--test', '--test-reporter=tap'] },
  fastify: { folders: ['test'], ends: '.test.js', program: ['--test', '--test-reporter=tap'] },
};
/** What fails over HTTP/2 alone, and why. */
const DIFFERENCES = [
  [/response status code to 101/, 'HTTP/2 has no status 101'],
  [/Unknown method/, "the translator's own parser refuses the method"],
];

function filesOf(place, { folders, ends, program }) {
  const recursive = program[0] === '--test';
  const files = folders.flatMap((folder) =>
    readdirSync(join(place, folder), { recursive })
      .filter((name) => name.endsWith(ends))
      .map((name) => join(folder, name)),
  );
  return files.sort().filter((_, index) => index % 3 === 0);
}

/** Names of the tests that pass, and that fail. */
function run(place, suite, options) {
  const args = [...suite.program, ...filesOf(place, suite)];
  const env = { ...process.env, NODE_OPTIONS: options, MILLRACE_HTTP2: 'on', MILLRACE_STACK: '' };
  delete env.NODE_TEST_CONTEXT;
  return new Promise((resolve) => {
    const how = { cwd: place, env, maxBuffer: 2 ** 28, timeout: 900_000 };
    execFile(process.execPath, args, how, (_error, stdout) => {
      const lines = stdout.split('\n').map((line) => line.replace(/ # time=.*$/, ''));
      const named = (start) =>
        lines.filter((line) => start.test(line)).map((line) => line.replace(start, ''));
      resolve({ passed: named(/^\s*ok \d+ (- )?/), failed: named(/^\s*not ok \d+ (- )?/) });
    });
  });
}

for (const [name, suite] of Object.entries(SUITES)) {
  test(`${name}: the same tests pass over HTTP/2`, { skip, timeout: 1_900_000 }, async (t) => {
    const place = join(FRAMEWORK_SUITES, name);
    const plain = await run(place, suite, '');
    const over = await run(place, suite, `--require ${TRANSLATOR} --import ${REGISTER}`);
    t.diagnostic(`${plain.passed.length} pass over HTTP/1.1, ${over.passed.length} over HTTP/2`);
    const isKnown = (line) =>
      plain.failed.includes(line) || DIFFERENCES.some(([known]) => known.test(line));
    assert.deepEqual(
      over.failed.filter((line) => !isKnown(line)),
      [],
    );
    assert.ok(plain.passed.length > 100);
  });
}
