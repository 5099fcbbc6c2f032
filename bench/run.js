// Measures millrace against its peers; see BENCHMARKING.md.
//
//   npm run bench -- load [--case NAME]... [--quick] [--rounds N] [--list]
//   npm run bench -- stack [the same] [--node BINARY] [--register FILE]
//   npm run bench -- explain, deadlines, compare: suites of their own, see explain/run.js, deadlines/run.js, compare/run.js
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildNative } from './bare.js';
import { suites } from './cases.js';
import { main as compare } from './compare/run.js';
import { main as deadlines } from './deadlines/run.js';
import { main as explain } from './explain/run.js';
import { describeMachine } from './machine.js';
import * as memory from './memory.js';
import { Results } from './results.js';
import { toolOf } from './rounds.js';
import * as spacing from './spacing.js';
import * as distinct from './stack/distinct.js';
import * as flood from './stack/flood.js';
import * as idle from './stack/idle.js';
import { findRuntimes, frameworkVersions } from './stack/runtimes.js';
import * as serving from './stack/serving.js';
import * as start from './start.js';
import * as throughput from './throughput.js';
import { isOnPath, readNginxVersion, readVersion, tools } from './tools.js';
import { exitWithUsageError } from './usage.js';

const kinds = { throughput, spacing, memory, start, serving, idle, flood, distinct };

function readOptions() {
  const known = {
    case: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    list: { type: 'boolean', default: false },
    node: { type: 'string' },
    register: { type: 'string' },
  };
  let parsed;
  try {
    parsed = parseArgs({ options: known, allowPositionals: true });
  } catch (error) {
    exitWithUsageError(error.message);
  }
  const { values, positionals } = parsed;
  const suite = positionals[0] ?? 'load';
  if (!(suite in suites))
    exitWithUsageError(
      `${suite}: the suites are ${Object.keys(suites).join(', ')}, explain, deadlines, compare`,
    );
  const rounds = Number(values.rounds ?? (values.quick ? 2 : 5));
  if (!Number.isInteger(rounds) || rounds < 1)
    exitWithUsageError(`--rounds ${values.rounds}: a whole number from 1`);
  const cases = selectCases(suites[suite], values.case);
  return {
    suite,
    cases,
    rounds,
    quick: values.quick,
    list: values.list,
    chosen: values.case ?? [],
    stack: readStackOptions(suite, values),
  };
}

/** Reads the options of the suite `stack`: the Node binary of the servers, and a module in place of Millrace's. */
function readStackOptions(suite, { node, register }) {
  for (const [flag, value] of Object.entries({ node, register })) {
    if (value === undefined) continue;
    if (suite !== 'stack') exitWithUsageError(`--${flag}: only for the suite stack`);
    if (!existsSync(value)) exitWithUsageError(`--${flag} ${value}: no such file`);
  }
  return { node: node && resolve(node), register: register && resolve(register) };
}

/** Selects cases by name or prefix; all without names. */
function selectCases(all, wanted = ['']) {
  const chosen = wanted.map((text) => {
    const exact = all.filter(({ name }) => name === text);
    const cases = exact.length > 0 ? exact : all.filter(({ name }) => name.startsWith(text));
    if (cases.length > 0) return cases;
    return exitWithUsageError(
      `--case ${text}: the cases are ${all.map(({ name }) => name).join(', ')}`,
    );
  });
  return [...new Set(chosen.flat())];
}

/** Finds the installed tools of these cases, and prints the missing ones. */
function findTools(cases) {
  const needed = new Set(cases.flatMap((bench) => bench.tools.map((row) => toolOf(bench, row))));
  const missing = [...needed].filter((name) => !tools[name].find());
  if (missing.length > 0) {
    console.error(`missing: ${missing.join(', ')} (bench/install.sh installs the peers)`);
  }
  return new Set([...needed].filter((name) => !missing.includes(name)));
}

/** Prepares the load suite: `{ runnable, found, versions, node }`. Prints what is missing. */
function prepareLoad(cases) {
  buildNative();
  const found = findTools(cases);
  const nginx = cases.some(({ server }) => server.kind === 'nginx') && isOnPath('nginx') !== null;
  const runnable = cases.filter(({ server }) => nginx || server.kind !== 'nginx');
  if (runnable.length < cases.length) {
    console.error('missing: nginx (bench/install.sh installs it)');
  }
  const versions = Object.fromEntries([...found].map((name) => [name, readVersion(name)]));
  if (nginx) versions.nginx = readNginxVersion();
  return { runnable, found, versions, node: process.version };
}

/** Prepares the stack suite in the same way. */
function prepareStack(cases, options) {
  const found = findRuntimes(options);
  if (!found.has('node')) exitWithUsageError(`--node ${options.node}: is no program that runs`);
  const needed = new Set(cases.flatMap((bench) => bench.tools.map((row) => toolOf(bench, row))));
  const missing = [...needed].filter((name) => !found.has(name));
  if (missing.length > 0) console.error(`missing: ${missing.join(', ')}`);
  const present = [...needed].filter((name) => found.has(name));
  const versions = Object.fromEntries(present.map((name) => [name, found.get(name).version]));
  const node = found.get('node').version;
  return { runnable: cases, found, versions: { ...versions, ...frameworkVersions() }, node };
}

async function runCase(bench, context) {
  const kind = kinds[bench.kind ?? 'throughput'];
  const note = bench.note ? [`- note: ${bench.note}`] : [];
  const result = await kind.run(bench, context);
  return { result, lines: [bench.question, '', ...kind.summarize(bench, result), ...note] };
}

/** Builds the section of a case in the suite's file. */
function buildSection(bench, { runs }, lines, { stack, node }) {
  const rounds = new Set(runs.map(({ round }) => round)).size;
  const tools = bench.tools.map((row) => toolOf(bench, row));
  return {
    name: stack.node ? `${bench.name}, Node ${/\d+/.exec(node)}` : bench.name,
    lines,
    runs: rounds === 1 ? '1 round' : `${rounds} rounds`,
    used: [...tools, bench.server?.kind, bench.framework],
  };
}

/** Creates the results of this run. Quick runs and runs with another module than Millrace's have no suite file. */
function createResults({ suite, rounds, seconds, quick, chosen, stack, versions, node }) {
  const what = [suite, ...chosen, ...(quick ? ['quick'] : [])].join('-');
  const about = {
    suite,
    machine: { ...describeMachine(), node },
    versions,
    runs: `${rounds} rounds, runs of ${seconds} s`,
    reading:
      'Ratios are medians over the rounds; in brackets the interval that BENCHMARKING.md describes.',
  };
  const names = suites[suite].map(({ name }) => name);
  return new Results(what, about, quick || stack.register ? null : names);
}

/** Checks the requirements of the cases besides tools; exits if one is missing. */
function checkMachine() {
  if (availableParallelism() < 2) exitWithUsageError('two cores are needed, one for each side');
  for (const needed of ['taskset', 'time', 'openssl']) {
    if (!isOnPath(needed))
      exitWithUsageError(`${needed} is missing (bench/install.sh installs it)`);
  }
}

/** Creates a directory for certificates and other files, which is removed when the harness ends. */
function createTemporaryDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Runs the cases one after the other; `settings` are options and what was prepared. */
async function measure({ runnable, found, rounds, seconds, quick, ...settings }) {
  const results = createResults({ rounds, seconds, quick, ...settings });
  // The harness runs on the server's core, as it would disturb the measurement on the client's.
  const cores = { server: '0', client: '1' };
  execFileSync('taskset', ['-a', '-c', '-p', cores.server, `${process.pid}`]);
  const progress = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);
  const attempts = quick ? 1 : 4;
  const directory = createTemporaryDirectory();
  const context = { found, rounds, seconds, attempts, cores, progress, directory };
  for (const bench of runnable) {
    const { result, lines } = await runCase(bench, context);
    progress('');
    const section = buildSection(bench, result, lines, settings);
    const shown = [`## ${section.name}`, '', ...lines, ''];
    console.log(shown.join('\n'));
    results.add(bench, result, shown);
    if (result.runs.length > 0) results.publish(section);
  }
  console.log(`written: ${results.paths}`);
}

async function main() {
  const settings = readOptions();
  const { suite, cases, list, stack, quick } = settings;
  if (list) {
    for (const { name, question } of cases) console.log(`${name.padEnd(24)} ${question}`);
    return;
  }
  checkMachine();
  const prepared = suite === 'stack' ? prepareStack(cases, stack) : prepareLoad(cases);
  await measure({ ...settings, ...prepared, seconds: quick ? 1 : 2 });
}

const [first, ...others] = process.argv.slice(2);
const own = { explain, deadlines, compare };
await (first in own ? own[first](others) : main());
