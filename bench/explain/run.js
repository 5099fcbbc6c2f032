// The suite `explain`: `millrace explain` on services whose limit is known; see BENCHMARKING.md.
//
//   npm run bench -- explain [--case NAME]... [--blind] [--repeat 3] [--budget 60s] [--add FOLDER]... [--list]
//
// --blind runs the cases of cases/blind.js only. ../results/explain.md has a table of these and one of all others; a run that
// leaves out any of a table's cases does not replace it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildNative } from '../bare.js';
import { machine, machineName } from '../machine.js';
import { Results } from '../results.js';
import { frameworkVersions } from '../stack/runtimes.js';
import { usage } from '../usage.js';
import { notMade, tables } from './cases.js';
import { chosenCases, folderName } from './choice.js';
import { ownCli } from './millrace.js';
import { caseLines, resultTable, summaryLines } from './summary.js';
import { lacking } from './surroundings.js';
import { trial } from './trial.js';

/** Why a case has no trials that could have some: only earlier runs count, and none has it. */
const NOT_RUN = 'not run yet';

function options(args) {
  const known = {
    case: { type: 'string', multiple: true, default: [] },
    blind: { type: 'boolean', default: false },
    repeat: { type: 'string', default: '3' },
    budget: { type: 'string', default: '60s' },
    add: { type: 'string', multiple: true, default: [] },
    list: { type: 'boolean', default: false },
  };
  let values;
  try {
    ({ values } = parseArgs({ args, options: known }));
  } catch (error) {
    usage(error.message);
  }
  const repeat = Number(values.repeat);
  // With results of earlier runs none may be wanted.
  const least = values.add.length > 0 ? 0 : 1;
  if (!Number.isInteger(repeat) || repeat < least)
    usage(`--repeat ${values.repeat}: a whole number from ${least}`);
  const budget = /^(\d+)s?$/.exec(values.budget);
  if (!budget) usage(`--budget ${values.budget}: seconds, like 60s`);
  const earlier = values.add.map(earlierRun);
  return {
    repeat,
    budgetSeconds: Number(budget[1]),
    choice: { names: values.case, blind: values.blind },
    list: values.list,
    earlier,
  };
}

function casesOf(choice) {
  try {
    return chosenCases(choice);
  } catch ({ message }) {
    return usage(message);
  }
}

function list(benches) {
  for (const { name, expected, because } of benches) {
    console.log(`${name.padEnd(20)} ${expected.join(' or ')}: ${because}`);
  }
  for (const [limit, why] of Object.entries(notMade)) console.log(`not made: ${limit}: ${why}`);
}

/** What an earlier run has left in its folder. */
function earlierRun(folder) {
  let run;
  try {
    run = JSON.parse(readFileSync(join(folder, 'raw.json'), 'utf8'));
  } catch (error) {
    usage(`--add ${folder}: ${error.message}; a folder of results`);
  }
  const here = machineName(machine());
  if (run.suite !== 'explain' || machineName(run.machine) !== here)
    usage(
      `--add ${folder}: results of ${run.suite} on ${machineName(run.machine)}; explain on ${here}`,
    );
  return run;
}

/** Runs a case so often as asked for; `{ bench, trials }` or `{ bench, skipped }`. */
async function runCase(bench, context) {
  const skipped = lacking(bench.surroundings ?? {});
  if (skipped) return { bench, skipped };
  const trials = context.earlier.flatMap(({ cases }) => cases[bench.name]?.trials ?? []);
  for (let number = 1; number <= context.repeat; number++) {
    context.progress(`${bench.name} ${number}/${context.repeat}`);
    trials.push(await trial(bench, context));
  }
  return trials.length > 0 ? { bench, trials } : { bench, skipped: NOT_RUN };
}

/** An earlier run, whose trials are among the results. */
function before({ date, command, runs, machine: { commit } }) {
  return `Before, ${date}, commit ${commit}, by \`${command}\`: ${runs}`;
}

function about({ repeat, budgetSeconds, earlier }) {
  const once = `each case ${repeat} times, explain with ${budgetSeconds} s`;
  return {
    suite: 'explain',
    machine: machine(),
    versions: frameworkVersions(),
    runs: [once, ...earlier.map(before)].join('. '),
    reading: 'What the words mean is in BENCHMARKING.md, "Explain".',
  };
}

/** The sections of the suite's file that these results fill: those of whose cases none is missing. */
function sectionsOf(results) {
  const ran = results.filter(({ skipped }) => skipped !== NOT_RUN);
  const used = Object.keys(frameworkVersions());
  return Object.entries(tables).flatMap(([name, benches]) => {
    const own = ran.filter(({ bench }) => benches.includes(bench));
    if (own.length < benches.length) return [];
    return [{ name, lines: [...resultTable(own), '', ...summaryLines(own)], used }];
  });
}

/** Runs the suite with the arguments behind its name. */
export async function main(args) {
  const { repeat, budgetSeconds, choice, list: listed, earlier } = options(args);
  const benches = casesOf(choice);
  if (listed) return list(benches);
  if (benches.some(({ service }) => service === 'bare')) buildNative();

  const directory = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const progress = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);
  const context = { cli: ownCli, repeat, budgetSeconds, directory, progress, earlier };
  const written = new Results(folderName(choice), about(context), Object.keys(tables));
  const results = [];
  for (const bench of benches) {
    const result = await runCase(bench, context);
    results.push(result);
    progress('');
    console.log(resultTable([result]).at(-1));
    written.add(bench, result, caseLines(result));
  }
  const conclusion = ['', ...resultTable(results), '', ...summaryLines(results), ''];
  written.conclude(['## All', ...conclusion]);
  for (const section of sectionsOf(results)) written.publish(section);
  console.log(conclusion.join('\n'));
  console.log(`written: ${written.paths}`);
}
