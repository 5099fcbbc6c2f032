// Runs the public tests for HTTP caches against the output cache of the stack:
//
//   node scripts/cache-suite.js TREE [--only ID] [--json FILE]
//
// TREE is the unpacked package http-cache-tests; test/slow/cache-suite/README.md describes its source and the output.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { findFreePort } from '../dist/process/listening/free-port.js';
import { root } from './step.js';

const USAGE = 'node scripts/cache-suite.js TREE [--only ID] [--json FILE]';
const DIFFERENCES = 'test/slow/cache-suite/differences.json';
const OPTIONS = { only: { type: 'string' }, json: { type: 'string' } };

const setting = read();
const directory = mkdtempSync(join(tmpdir(), 'millrace-cache-suite-'));
const port = await findFreePort();
const origin = startOrigin();
try {
  await listening(origin);
  const { results, suites } = await run();
  if (setting.json) writeFileSync(setting.json, `${JSON.stringify(results)}\n`);
  process.exitCode = report(results, suites) ? 0 : 1;
} finally {
  origin.kill();
  rmSync(directory, { recursive: true });
}

function read() {
  try {
    const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
    const [tree] = positionals;
    if (!tree || positionals.length > 1) throw new Error('TREE must be exactly one folder');
    if (!existsSync(join(tree, 'server', 'server.mjs')))
      throw new Error(`${tree} does not contain the suite`);
    return { tree: resolve(tree), ...values };
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

/** Starts the suite's origin server as an application of the stack. */
function startOrigin() {
  const register = pathToFileURL(join(root, 'dist', 'http', 'register.js')).href;
  const env = {
    ...process.env,
    MILLRACE_CACHE_DURATION: '0',
    npm_config_protocol: 'http',
    npm_config_port: String(port),
    npm_config_pidfile: join(directory, 'pid'),
  };
  const server = join(setting.tree, 'server', 'server.mjs');
  return spawn(process.execPath, ['--import', register, server], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function listening(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('Listening')) return;
  }
  throw new Error('the origin did not start');
}

async function run() {
  const load = (path) => import(pathToFileURL(join(setting.tree, path)).href);
  const { default: all } = await load('tests/index.mjs');
  const { getResults, runTests } = await load('client/runner.mjs');
  const chosen = all
    .map((suite) => ({ ...suite, tests: suite.tests.filter(isChosen) }))
    .filter(({ tests }) => tests.length > 0);
  await runTests(chosen, fetch, false, `http://localhost:${port}`);
  return { results: getResults(), suites: chosen };
}

function isChosen({ id, browser_only: forBrowsers }) {
  return forBrowsers !== true && (!setting.only || id === setting.only);
}

/** Prints the table and the differences from the list; returns whether there are none. */
function report(results, suites) {
  const listed = JSON.parse(readFileSync(join(root, DIFFERENCES), 'utf8'));
  const tests = suites.flatMap((suite) => suite.tests);
  const kindOf = ({ kind = 'required' }) => kind;
  for (const kind of ['required', 'optimal', 'check']) {
    const own = tests.filter((test) => kindOf(test) === kind);
    const passed = own.filter(({ id }) => results[id] === true);
    console.log(`${kind.padEnd(10)}${passed.length} of ${own.length}`);
  }
  // Tests of kind `check` are informative: they neither pass nor fail.
  const failed = tests.filter((test) => kindOf(test) !== 'check' && results[test.id] !== true);
  const fresh = failed.filter(({ id }) => !(id in listed));
  const passing = tests.filter(({ id }) => id in listed && results[id] === true);
  print(
    'fail, as listed',
    failed.filter(({ id }) => id in listed),
    ({ id }) => listed[id],
  );
  print(
    'fail, not listed',
    fresh,
    (test) => `${kindOf(test)}, ${test.name}: ${results[test.id]?.[1]}`,
  );
  print('pass, though listed', passing, ({ name }) => name);
  return fresh.length + passing.length === 0;
}

function print(title, tests, textOf) {
  if (tests.length === 0) return;
  console.log(`\n${title}: ${tests.length}`);
  for (const test of tests) console.log(`  ${test.id}: ${textOf(test)}`);
}
