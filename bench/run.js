// Measures millrace against its peers; see BENCHMARKING.md.
//
//   npm run bench -- load [--case NAME]... [--quick] [--rounds N] [--list]
//   npm run bench -- stack, apps [the same] [--node VERSION|BINARY]... [--register FILE]
//   npm run bench -- all [--node VERSION]...: load, stack and apps, then the tables
//   npm run bench -- tables: writes the tables of README.md and BENCHMARKING.md, and the picture of the stack
//   npm run bench -- pictures: draws explain's report for README.md
//   npm run bench -- budget, explain, watch, deadlines, compare: suites of their own, see run.js in their folders
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import * as application from './apps/application.js';
import { main as budget } from './budget/run.js';
import { isOnPath } from './clients/tools.js';
import { main as compare } from './compare/run.js';
import { main as deadlines } from './deadlines/run.js';
import { Results } from './documents/results.js';
import { writeTables } from './documents/tables.js';
import { main as explain } from './explain/run.js';
import { describeMachine } from './harness/machine.js';
import { adaptCase } from './harness/nodes.js';
import { readOptions } from './harness/options.js';
import { preparations } from './harness/preparations.js';
import { toolOf } from './harness/rounds.js';
import { exitWithUsageError } from './harness/usage.js';
import { suites } from './load/cases.js';
import * as memory from './load/memory.js';
import * as spacing from './load/spacing.js';
import * as start from './load/start.js';
import * as throughput from './load/throughput.js';
import { main as pictures } from './pictures/run.js';
import * as distinct from './stack/distinct.js';
import * as flood from './stack/flood.js';
import * as idle from './stack/idle.js';
import * as launch from './stack/launch.js';
import * as serving from './stack/serving.js';
import { main as watch } from './watch/run.js';

const kinds = {
  ...{ throughput, spacing, memory, start },
  ...{ serving, idle, flood, distinct, launch, application },
};

/** Runs a case on each Node.js; resolves with `{ node, result, lines, figures }` of each, the latter null if there are none. */
async function runCase(bench, nodes, context) {
  const kind = kinds[bench.kind ?? 'throughput'];
  const parts = [];
  for (const node of nodes) {
    const adapted = adaptCase(bench, node.major);
    const result = await kind.run(adapted, { ...context, found: node.found });
    const lines = kind.summarize(adapted, result);
    const describe = kind.describe ?? (() => describeLines(lines));
    const figures = result.runs.length > 0 ? describe(adapted, result) : null;
    parts.push({ node, result, lines, figures });
  }
  return parts;
}

/** Describes a case for the tables by the lines of its bars, if its kind compares nothing. */
function describeLines(lines) {
  const bars = lines.filter((line) => line.startsWith('- bar: '));
  return { main: '', peers: {}, bars: bars.map((line) => line.slice('- bar: '.length)) };
}

/** Builds the section of a case in the suite's file: what was measured on each Node.js, with a heading if it is a server's. */
function buildSection(bench, parts, suite) {
  const headed = ({ node, lines }) => ['', `### Node ${node.version.slice(1)}`, '', ...lines];
  const measured = suite === 'load' ? ['', ...parts[0].lines] : parts.flatMap(headed);
  const note = bench.note ? [`- note: ${bench.note}`] : [];
  const rounds = Math.max(
    ...parts.map(({ result }) => new Set(result.runs.map(({ round }) => round)).size),
  );
  const tools = bench.tools.map((row) => toolOf(bench, row));
  return {
    name: bench.name,
    lines: [bench.question, ...measured, ...note],
    runs: rounds === 1 ? '1 round' : `${rounds} rounds`,
    used: [...tools, bench.server?.kind, ...(bench.packages ?? [])],
    figures: parts.flatMap(({ node, figures }) => (figures ? [{ node, figures }] : [])),
  };
}

/** Creates the results of this run. Quick runs and runs with another module than Millrace's have no suite file. */
function createResults({ suite, rounds, seconds, quick, chosen, register, versions, nodes }) {
  const what = [suite, ...chosen, ...(quick ? ['quick'] : [])].join('-');
  const node = nodes.map(({ version }) => version).join(' and ');
  const about = {
    suite,
    machine: { ...describeMachine(), node },
    versions,
    runs: `${rounds} rounds, runs of ${seconds} s`,
    reading:
      'Ratios are medians over the rounds; in brackets the interval that BENCHMARKING.md describes.',
  };
  const names = suites[suite].map(({ name }) => name);
  return new Results(what, about, quick || register ? null : names);
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

/** Runs the cases of a suite one after the other; `settings` are options and what was prepared. */
async function measure({ runnable, nodes, rounds, seconds, quick, directory, ...settings }) {
  const results = createResults({ rounds, seconds, quick, nodes, ...settings });
  // The harness runs on the server's core, as it would disturb the measurement on the client's.
  const cores = { server: '0', client: '1' };
  execFileSync('taskset', ['-a', '-c', '-p', cores.server, `${process.pid}`]);
  const progress = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);
  const attempts = quick ? 1 : 4;
  const context = { rounds, seconds, quick, attempts, cores, progress, directory };
  for (const bench of runnable) {
    const parts = await runCase(bench, nodes, context);
    progress('');
    const section = buildSection(bench, parts, settings.suite);
    const shown = [`## ${section.name}`, '', ...section.lines, ''];
    console.log(shown.join('\n'));
    const measured = parts.map(({ node, result }) => ({ node: node.version, ...result }));
    results.add(bench, { measured }, shown);
    if (parts.every(({ result }) => result.runs.length > 0)) results.publish(section);
  }
  console.log(`written: ${results.paths}`);
}

async function main() {
  const { suites: wanted, list, quick, ...options } = readOptions();
  if (list) {
    for (const { name, question } of wanted.flatMap(({ cases }) => cases))
      console.log(`${name.padEnd(24)} ${question}`);
    return;
  }
  checkMachine();
  const directory = createTemporaryDirectory();
  const seconds = quick ? 1 : 2;
  for (const { name: suite, cases } of wanted) {
    const prepared = preparations[suite](cases, options);
    await measure({ suite, quick, seconds, directory, ...options, ...prepared });
  }
  if (wanted.length > 1 && !quick) writeTables();
}

const [first, ...others] = process.argv.slice(2);
const own = { explain, watch, deadlines, compare, budget, pictures, tables: writeTables };
await (first in own ? own[first](others) : main());
