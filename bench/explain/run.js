// The suite `explain`: `millrace explain` on services whose limit is known; see BENCHMARKING.md.
//
//   npm run bench -- explain [--case NAME]... [--repeat 3] [--budget 60s] [--list]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildNative } from '../bare.js';
import { machine } from '../machine.js';
import { Results } from '../results.js';
import { frameworkVersions } from '../stack/runtimes.js';
import { cases, notMade } from './cases.js';
import { ownCli } from './millrace.js';
import { caseLines, resultTable, summaryLines } from './summary.js';
import { lacking } from './surroundings.js';
import { trial } from './trial.js';

/** Ends with one line that says what was wrong. */
function usage(message) {
  console.error(`bench: ${message}`);
  process.exit(2);
}

function options(args) {
  const known = {
    case: { type: 'string', multiple: true },
    repeat: { type: 'string', default: '3' },
    budget: { type: 'string', default: '60s' },
    list: { type: 'boolean', default: false },
  };
  let values;
  try {
    ({ values } = parseArgs({ args, options: known }));
  } catch (error) {
    usage(error.message);
  }
  const repeat = Number(values.repeat);
  if (!Number.isInteger(repeat) || repeat < 1)
    usage(`--repeat ${values.repeat}: a whole number from 1`);
  const budget = /^(\d+)s?$/.exec(values.budget);
  if (!budget) usage(`--budget ${values.budget}: seconds, like 60s`);
  return { repeat, budgetSeconds: Number(budget[1]), chosen: values.case ?? [], list: values.list };
}

function chosenCases(names) {
  if (names.length === 0) return cases;
  return names.map(
    (name) =>
      cases.find((bench) => bench.name === name) ??
      usage(`--case ${name}: the cases are ${cases.map((bench) => bench.name).join(', ')}`),
  );
}

function list(benches) {
  for (const { name, expected, because } of benches) {
    console.log(`${name.padEnd(20)} ${expected.join(' or ')}: ${because}`);
  }
  for (const [limit, why] of Object.entries(notMade)) console.log(`not made: ${limit}: ${why}`);
}

/** Runs a case so often as asked for; `{ bench, trials }` or `{ bench, skipped }`. */
async function runCase(bench, context) {
  const skipped = lacking(bench.surroundings ?? {});
  if (skipped) return { bench, skipped };
  const trials = [];
  for (let number = 1; number <= context.repeat; number++) {
    context.progress(`${bench.name} ${number}/${context.repeat}`);
    trials.push(await trial(bench, context));
  }
  return { bench, trials };
}

/** Runs the suite with the arguments behind its name. */
export async function main(args) {
  const { repeat, budgetSeconds, chosen, list: listed } = options(args);
  const benches = chosenCases(chosen);
  if (listed) return list(benches);
  if (benches.some(({ service }) => service === 'bare')) buildNative();

  const directory = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const progress = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);
  const context = { cli: ownCli, repeat, budgetSeconds, directory, progress };
  const written = new Results(['explain', ...chosen].join('-'), {
    suite: 'explain',
    machine: machine(),
    versions: frameworkVersions(),
    runs: `Each case ${repeat} times, explain with ${budgetSeconds} s`,
    reading: 'What the words mean is in BENCHMARKING.md, "Explain".',
  });
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
  console.log(conclusion.join('\n'));
  console.log(`written: ${written.path}`);
}
