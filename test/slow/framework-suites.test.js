// The frameworks' own tests, every third file by name: over HTTP/2 on the stack, by a client that is translated
// (frameworks/over-http2.cjs), the same pass as over HTTP/1.1 on Node's own server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cloned } from '../fixtures/packages.js';
import { REGISTER } from '../fixtures/stack/comparison/two-processes.js';

const TRANSLATOR = fileURLToPath(new URL('frameworks/over-http2.cjs', import.meta.url));
/** Packages that the tests need are those of this day: the repositories have no lock files. */
const BEFORE = '2026-11-01';

const mocha = ['--require', 'test/support/env', '--exit', '--reporter', 'tap'];
const express = {
  repository: 'expressjs/express',
  folders: ['test', 'test/acceptance'],
  ends: '.js',
};
// A test that hangs fails.
const runner = ['--test', '--test-timeout=120000', '--test-reporter=tap'];
const recursive = { program: runner, isRecursive: true };
const SUITES = {
  'Express 4': { ...express, tag: 'v4.22.2', program: ['node_modules/mocha/bin/_mocha', ...mocha] },
  'Express 5': {
    ...express,
    tag: 'v5.2.1',
    program: ['node_modules/mocha/bin/mocha.js', ...mocha],
  },
  Koa: {
    repository: 'koajs/koa',
    tag: 'v3.2.0',
    folders: ['__tests__'],
    ends: '.js',
    ...recursive,
  },
  Fastify: {
    repository: 'fastify/fastify',
    tag: 'v5.12.1',
    folders: ['test'],
    ends: '.test.js',
    ...recursive,
    // It waits for an event that sessions of the stack do not have, 'goaway', and its file with it.
    program: [...runner, '--test-skip-pattern=Set on goaway'],
  },
};
/** What fails over HTTP/2 alone, and why. */
const DIFFERENCES = [
  [/response status code to 101/, 'HTTP/2 has no status 101'],
  [/Unknown method/, "the translator's own parser refuses the method"],
];

function filesOf(place, { folders, ends, isRecursive }) {
  const files = folders.flatMap((folder) =>
    readdirSync(join(place, folder), { recursive: isRecursive })
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
  test(`${name}: the same tests pass over HTTP/2`, { timeout: 2_500_000 }, async (t) => {
    const { folder, reason } = await cloned(suite.repository, suite.tag, BEFORE);
    if (reason !== undefined) return t.skip(reason);
    const plain = await run(folder, suite, '');
    const over = await run(folder, suite, `--require ${TRANSLATOR} --import ${REGISTER}`);
    t.diagnostic(`${plain.passed.length} pass over HTTP/1.1, ${over.passed.length} over HTTP/2`);
    const isKnown = (line) => DIFFERENCES.some(([known]) => known.test(line));
    const failed = over.failed.filter((line) => !plain.failed.includes(line));
    // A file that ends early is silent about its tests.
    const missing = plain.passed.filter((line) => !over.passed.includes(line));
    assert.deepEqual(
      [...new Set([...failed, ...missing])].filter((line) => !isKnown(line)),
      [],
    );
    assert.ok(plain.passed.length > 100);
  });
}
