// What deadlines cost: the CPU time of a call with deadlines ÷ without, and with the minimum that they could do
// (minimal.js) ÷ without, each within one process (sides.js). Processes differ, so several sets of them are measured.
//
//   npm run bench -- deadlines [--case http | fetch | undici | controller]... [--sets N] [--bytes N]: of a body
//   npm run bench -- deadlines --soak [--calls N]: whether anything stays behind, see soak.js
import { execFileSync, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Results } from '../documents/results.js';
import { formatInterval, formatTable } from '../documents/table.js';
import { describeMachine } from '../harness/machine.js';
import { computeMedian, computeMedianInterval } from '../harness/statistics.js';
import { exitWithUsageError } from '../harness/usage.js';
import { makeCopies, UNDICI } from './sides.js';

const CASES = ['http', 'fetch', 'undici', 'controller'];
/** What observes the calls in the two processes of a set. */
const OBSERVERS = {
  minimal: new URL('minimal.js', import.meta.url).href,
  full: 'millrace/deadlines/register',
};
/** Loaded before, for the side that is not observed. */
const ORIGINALS = new URL('originals.js', import.meta.url).href;
/** Concurrent calls, calls in a block, rounds to warm up, measured rounds. */
const AT_ONCE = 10;
const CALLS = 100;
const WARM_UP = 200;
const ROUNDS = 600;
/** Maximum cost of a call with deadlines, relative to one without. */
const BAR = 1.05;
/** Default size of a body. */
const BYTES = 5;

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

export async function main(args) {
  const { cases, sets, bytes, soak: soaking, calls } = options(args);
  if (soaking) return soak(calls);
  const about = {
    suite: 'deadlines',
    machine: describeMachine(),
    versions: { undici: JSON.parse(readFileSync(`${UNDICI}/package.json`, 'utf8')).version },
    runs: `${sets} sets`,
    reading:
      'What is compared is in BENCHMARKING.md, "Deadlines". The columns in microseconds are of different processes, the ratios are not; in brackets the interval that BENCHMARKING.md describes.',
  };
  const results = new Results('deadlines', about, CASES);
  const server = startServer(bytes);
  try {
    const port = String((await once(server.stdout, 'data'))[0]).trim();
    for (const name of cases) {
      const measured = await measure(name, port, sets);
      const section = sectionOf(name, bytes, measured);
      const shown = [`## ${section.name}`, '', ...section.lines, ''];
      console.log(shown.join('\n'));
      results.add({ name, bytes }, { sets: measured }, shown);
      results.publish(section);
    }
  } finally {
    server.kill();
  }
  console.log(`written: ${results.paths}`);
}

function options(args) {
  const known = {
    case: { type: 'string', multiple: true, default: CASES },
    sets: { type: 'string', default: '12' },
    bytes: { type: 'string', default: `${BYTES}` },
    soak: { type: 'boolean', default: false },
    calls: { type: 'string', default: '100000' },
  };
  let values;
  try {
    ({ values } = parseArgs({ args, options: known }));
  } catch (error) {
    exitWithUsageError(error.message);
  }
  const unknown = values.case.find((name) => !CASES.includes(name));
  if (unknown !== undefined)
    exitWithUsageError(`--case ${unknown}: the cases are ${CASES.join(', ')}`);
  const [sets, bytes] = [Number(values.sets), Number(values.bytes)];
  if (!Number.isInteger(sets) || sets < 1)
    exitWithUsageError(`--sets ${values.sets}: a whole number from 1`);
  if (!Number.isInteger(bytes) || bytes < 0)
    exitWithUsageError(`--bytes ${values.bytes}: a whole number`);
  return { ...values, cases: values.case, sets, bytes };
}

/** A fast server, so that the client is what is busy. */
function startServer(bytes) {
  const own = ['--import', 'millrace/register', file('server.js'), `${bytes}`];
  return spawn('taskset', ['-c', '0', process.execPath, ...own], {
    cwd: file('../..'),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Runs in a process of its own, which prints its result. */
function soak(calls) {
  const argv = ['--import', 'millrace/deadlines/register', file('soak.js'), calls];
  const env = { ...process.env, MILLRACE_DEADLINE_TOTAL: '500ms' };
  const { status } = spawnSync(process.execPath, argv, {
    cwd: file('../..'),
    env,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}

/** Measures the CPU time of a call of each side, in both processes of each set. */
async function measure(name, port, sets) {
  const copies = await makeCopies();
  const results = [];
  try {
    for (let set = 0; set < sets; set++) {
      const compare = (observer) => compareSides(name, port, observer, copies.folder, set);
      results.push({
        minimal: await compare(OBSERVERS.minimal),
        full: await compare(OBSERVERS.full),
      });
    }
  } finally {
    await copies.remove();
  }
  return results;
}

/** Measures both sides in one process; the side that is made first alternates. */
async function compareSides(name, port, observer, folder, set) {
  const first = set % 2 === 0 ? 'observed' : 'plain';
  const child = fork(file('sides.js'), [name, port, String(AT_ONCE), first, folder], {
    execArgv: ['--import', ORIGINALS, '--import', observer],
    cwd: file('../..'),
  });
  execFileSync('taskset', ['-a', '-c', '-p', '1', String(child.pid)]);
  const make = async (rounds) => {
    child.send({ rounds, calls: CALLS });
    return (await once(child, 'message'))[0];
  };
  await make(WARM_UP);
  const costs = await make(ROUNDS);
  child.kill();
  return costs;
}

/** Builds the section of a case in the suite's file. */
function sectionOf(name, bytes, sets) {
  const of = (pick) => sets.map(pick);
  const costs = [
    ({ minimal, full }) => (minimal.plain + full.plain) / 2,
    ({ minimal }) => minimal.observed,
    ({ full }) => full.observed,
  ].map((pick) => `${computeMedian(of(pick)).toFixed(1)} µs`);
  const minimal = computeMedianInterval(of((one) => one.minimal.observed / one.minimal.plain));
  const full = computeMedianInterval(of((one) => one.full.observed / one.full.plain));
  const verdict = full.high <= BAR ? 'met' : full.low > BAR ? 'missed' : 'open';
  const head = ['calls by', 'CPU per call, without', 'minimal', 'with'];
  head.push('minimal ÷ without', 'with ÷ without');
  return {
    name: bytes === BYTES ? name : `${name}, ${bytes} bytes`,
    lines: [
      ...formatTable(head, [[name, ...costs, formatInterval(minimal, 3), formatInterval(full, 3)]]),
      '',
      `- bar: with ÷ without ≤ ${BAR}: **${verdict}**`,
    ],
    used: name === 'http' ? [] : ['undici'],
  };
}
