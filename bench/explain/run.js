// The suite `explain`: `millrace explain` on services whose limit is known; see BENCHMARKING.md.
//
//   npm run bench -- explain [--case NAME]... [--blind] [--repeat 3] [--budget 60s] [--add FOLDER]... [--no-doctor]
//                            [--list]
//
// --blind runs only the cases of cases/blind.js, --no-doctor leaves clinic doctor's rules out. ../results/explain.md has a
// section for each table of cases.js and each version of Node.js; a run replaces one only if it contains all its cases.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Results } from '../documents/results.js';
import { describeMachine, nameMachine } from '../harness/machine.js';
import { exitWithUsageError } from '../harness/usage.js';
import { buildNative } from '../native/bare.js';
import { readPackageVersions } from '../stack/runtimes.js';
import { notMade, tables } from './cases.js';
import { nameFolder, selectCases } from './choice.js';
import { compileService } from './compile.js';
import { findMissingDatabase, withDatabase } from './databases.js';
import { ownCli } from './millrace.js';
import { formatCase, formatResultTable, formatSummary } from './summary.js';
import { findMissing } from './surroundings.js';
import { runTrial } from './trial.js';

/** The reason for a case without trials if only earlier runs count and none contains it. */
const NOT_RUN = 'not run yet';
const ownMajor = process.versions.node.split('.')[0];
/** The frameworks of the services, whose versions are told. */
const FRAMEWORKS = ['express', 'fastify', 'koa'];

function readOptions(args) {
  const known = {
    case: { type: 'string', multiple: true, default: [] },
    blind: { type: 'boolean', default: false },
    repeat: { type: 'string', default: '3' },
    budget: { type: 'string', default: '60s' },
    add: { type: 'string', multiple: true, default: [] },
    doctor: { type: 'boolean', default: true },
    list: { type: 'boolean', default: false },
  };
  let values;
  try {
    ({ values } = parseArgs({ args, options: known, allowNegative: true }));
  } catch (error) {
    exitWithUsageError(error.message);
  }
  const repeat = Number(values.repeat);
  // With results of earlier runs, no new trials are necessary.
  const least = values.add.length > 0 ? 0 : 1;
  if (!Number.isInteger(repeat) || repeat < least)
    exitWithUsageError(`--repeat ${values.repeat}: a whole number from ${least}`);
  const budget = /^(\d+)s?$/.exec(values.budget);
  if (!budget) exitWithUsageError(`--budget ${values.budget}: seconds, like 60s`);
  const earlier = values.add.map(readEarlierRun);
  return {
    repeat,
    budgetSeconds: Number(budget[1]),
    choice: { names: values.case, blind: values.blind },
    doctor: values.doctor,
    list: values.list,
    earlier,
  };
}

function prepareCases(choice) {
  try {
    return selectCases(choice);
  } catch ({ message }) {
    return exitWithUsageError(message);
  }
}

function list(benches) {
  for (const { name, expected, because } of benches) {
    console.log(`${name.padEnd(20)} ${expected.join(' or ')}: ${because}`);
  }
  for (const [limit, why] of Object.entries(notMade)) console.log(`not made: ${limit}: ${why}`);
}

/** Reads the results of an earlier run from its folder. */
function readEarlierRun(folder) {
  let run;
  try {
    run = JSON.parse(readFileSync(join(folder, 'raw.json'), 'utf8'));
  } catch (error) {
    exitWithUsageError(`--add ${folder}: ${error.message}; a folder of results`);
  }
  const here = nameMachine(describeMachine());
  if (run.suite !== 'explain' || nameMachine(run.machine) !== here)
    exitWithUsageError(
      `--add ${folder}: results of ${run.suite} on ${nameMachine(run.machine)}; explain on ${here}`,
    );
  return run;
}

/** Runs the trials of a case; resolves with `{ bench, trials }` or `{ bench, skipped }`. */
async function runCase(bench, context) {
  const skipped = findMissing(bench.surroundings ?? {}) ?? findMissingDatabase(bench.database);
  if (skipped) return { bench, skipped };
  if (context.repeat > 0) compileService(bench);
  const trials = context.earlier.flatMap(({ cases }) => cases[bench.name]?.trials ?? []);
  for (let number = 1; number <= context.repeat; number++) {
    context.progress(`${bench.name} ${number}/${context.repeat}`);
    trials.push(await withDatabase(bench, context.directory, (ready) => runTrial(ready, context)));
  }
  return trials.length > 0 ? { bench, trials } : { bench, skipped: NOT_RUN };
}

/** Describes an earlier run whose trials are part of the results. */
function describeEarlierRun({ date, command, runs, machine: { commit } }) {
  return `Before, ${date}, commit ${commit}, by \`${command}\`: ${runs}`;
}

function describeRun({ repeat, budgetSeconds, earlier }) {
  const once = `each case ${repeat} times, explain with ${budgetSeconds} s`;
  return {
    suite: 'explain',
    machine: describeMachine(),
    versions: readPackageVersions('..', FRAMEWORKS),
    runs: [once, ...earlier.map(describeEarlierRun)].join('. '),
    reading: 'What the words mean is in BENCHMARKING.md, "Explain".',
  };
}

/** Builds the sections of the suite's file whose cases are all in these results. */
function buildSections(results) {
  const ran = results.filter(({ skipped }) => skipped !== NOT_RUN);
  return Object.entries(tables).flatMap(([name, benches]) => {
    const own = ran.filter(({ bench }) => benches.includes(bench));
    if (own.length < benches.length) return [];
    const lines = [...formatResultTable(own), '', ...formatSummary(own)];
    return [{ name: `${name}, Node ${ownMajor}`, lines, used: FRAMEWORKS }];
  });
}

/** Runs the suite with the arguments after its name. */
export async function main(args) {
  const { repeat, budgetSeconds, choice, doctor, list: listed, earlier } = readOptions(args);
  const benches = prepareCases(choice);
  if (listed) return list(benches);
  if (benches.some(({ service }) => service === 'bare')) buildNative();

  const directory = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const progress = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);
  const context = { cli: ownCli, repeat, budgetSeconds, directory, progress, doctor, earlier };
  const written = new Results(nameFolder(choice), describeRun(context), Object.keys(tables));
  const results = [];
  for (const bench of benches) {
    const result = await runCase(bench, context);
    results.push(result);
    progress('');
    console.log(formatResultTable([result]).at(-1));
    written.add(bench, result, formatCase(result));
  }
  const conclusion = ['', ...formatResultTable(results), '', ...formatSummary(results), ''];
  written.conclude(['## All', ...conclusion]);
  for (const section of buildSections(results)) written.publish(section);
  console.log(conclusion.join('\n'));
  console.log(`written: ${written.paths}`);
}
