// Runs the HTTP tests of Node.js with the stack under node:http, and compares with plain Node.js:
//
//   node scripts/node-suite.js TREE [options]
//
// test/slow/node-suite/README.md describes the source of TREE and the output.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { formatList, formatServed, formatTable } from './node-suite/report.js';
import { runTests } from './node-suite/run.js';
import { CLASSES, findTestFolder, listHttpTests, parseMajor } from './node-suite/tests.js';
import { root } from './step.js';

const OPTIONS = {
  only: { type: 'string', default: '' },
  class: { type: 'string', default: Object.keys(CLASSES).join() },
  jobs: { type: 'string', default: '2' },
  node: { type: 'string', default: process.execPath },
  register: { type: 'string', default: join(root, 'dist', 'http', 'register.js') },
  'plain-cache': { type: 'string' },
  json: { type: 'string' },
};
const USAGE = `node scripts/node-suite.js TREE [--${Object.keys(OPTIONS).join(' _] [--')} _]`;

class InputError extends Error {}

// process.exit also ends the running tests.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
try {
  process.exitCode = (await main(settings())) ? 0 : 1;
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

/** Resolves to whether exactly the listed tests fail. */
async function main(setting) {
  const { tests, version, register, json } = setting;
  const start = performance.now();
  const plain = await plainResults(setting);
  const between = performance.now();
  const counted = tests.filter((test) => plain[test.name].outcome === 'pass');
  const stack = await runTests(counted, {
    ...setting,
    // A test that is flaky on plain Node.js may be flaky here.
    attemptsOf: (test) => plain[test.name].attempts,
    onResult: progress('stack', counted.length),
  });
  const seconds = { plain: since(start, between), stack: since(between, performance.now()) };
  console.log(
    `Node.js ${version}, plain ${seconds.plain} s, with ${register} ${seconds.stack} s\n`,
  );
  console.log(`${formatTable(tests, plain, stack)}\n`);
  if (json)
    writeFileSync(json, `${JSON.stringify({ version, register, seconds, plain, stack })}\n`);
  return compare(setting, plain, stack);
}

/** Prints the failures, and returns whether they match the list of differences. */
function compare({ version }, plain, stack) {
  const file = `test/slow/node-suite/differences-${parseMajor(version)}.json`;
  const listed = readJson(join(root, file));
  const names = Object.keys(plain);
  const notCounted = names.filter((name) => !(name in stack));
  const passed = names.filter((name) => stack[name]?.outcome === 'pass');
  const failed = names.filter((name) => name in stack && !passed.includes(name));
  const fresh = failed.filter((name) => !(name in listed));
  const known = failed.filter((name) => name in listed);
  const mended = passed.filter((name) => name in listed);
  const reasonOf = (name) => listed[name];
  const errorOf = (results) => (name) => `${results[name].outcome}, ${results[name].error}`;
  const parts = [
    formatList('do not pass on plain Node.js, not counted', notCounted, errorOf(plain)),
    formatList(`fail with the stack, listed in ${file}`, known, reasonOf),
    formatList(`fail with the stack, not listed in ${file}`, fresh, errorOf(stack)),
    formatList(`pass with the stack, but listed in ${file}`, mended, reasonOf),
    formatServed(stack),
  ];
  console.log(parts.filter(Boolean).join('\n\n'));
  return fresh.length + mended.length === 0;
}

/** Gets the results without the stack; cached results of this version and tree are reused. */
async function plainResults(setting) {
  const { tests, version, folder, cache } = setting;
  const kept = cache ? readJson(cache) : {};
  const known = kept.version === version && kept.folder === folder ? kept.results : {};
  const missing = tests.filter((test) => !known[test.name]);
  const fresh = await runTests(missing, {
    ...setting,
    register: undefined,
    attemptsOf: () => 2,
    onResult: progress('plain', missing.length),
  });
  const results = { ...known, ...fresh };
  if (cache) writeFileSync(cache, `${JSON.stringify({ version, folder, results })}\n`);
  return Object.fromEntries(tests.map((test) => [test.name, results[test.name]]));
}

/** Reads a JSON file; an empty object if it does not exist. */
function readJson(file) {
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new InputError(`${file}: ${error.message}`);
  }
}

function progress(title, total) {
  let count = 0;
  return ({ name }) => {
    count++;
    if (!process.stderr.isTTY) return;
    const text = count < total ? `${title} ${count}/${total} ${name}`.slice(0, 79) : '';
    process.stderr.write(`\r\x1b[K${text}`);
  };
}

function since(start, end) {
  return Math.round((end - start) / 1000);
}

/** Reads and checks the command line. */
function settings() {
  const { values, positionals } = parse();
  if (positionals.length !== 1) throw new InputError(USAGE);
  const folder = findTestFolder(resolve(positionals[0]));
  if (!folder)
    throw new InputError(
      `TREE: ${positionals[0]} has no parallel/ and sequential/: want Node's test/`,
    );
  const register = resolve(values.register);
  if (!existsSync(register))
    throw new InputError(
      `--register: ${register} does not exist; npm run build creates the default`,
    );
  const jobs = Number(values.jobs);
  if (!Number.isInteger(jobs) || jobs < 1)
    throw new InputError(`--jobs must be a whole number of at least 1 (got ${values.jobs})`);
  for (const name of ['json', 'plain-cache']) checkWritable(name, values[name]);
  const tests = selected(listHttpTests(folder), values);
  const version = versionOf(values.node);
  const { node, json, 'plain-cache': cache } = values;
  return { tests, version, folder, register, jobs, node, json, cache };
}

function parse() {
  try {
    return parseArgs({ options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new InputError(`${error.message}\n${USAGE}`);
  }
}

function checkWritable(name, file) {
  if (file && !existsSync(dirname(resolve(file))))
    throw new InputError(`--${name}: the folder of ${file} does not exist`);
}

function selected(tests, { only, class: classes }) {
  const wanted = classes.split(',');
  const wrong = wanted.find((id) => !(id in CLASSES));
  if (wrong !== undefined)
    throw new InputError(`--class must be some of ${Object.keys(CLASSES).join()} (got ${wrong})`);
  const chosen = tests.filter(
    (test) => wanted.includes(test.class) && pattern(only).test(test.name),
  );
  if (chosen.length === 0)
    throw new InputError(`--only ${only} --class ${classes} selects no test`);
  return chosen;
}

function pattern(text) {
  try {
    return new RegExp(text);
  } catch {
    throw new InputError(
      `--only: ${text}: want a regular expression for names like parallel/test-http-x.js`,
    );
  }
}

function versionOf(node) {
  const { status, stdout, error } = spawnSync(node, ['-p', 'process.version'], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new InputError(`--node: ${node}: ${error?.message ?? 'is no Node.js'}`);
  return stdout.trim();
}
