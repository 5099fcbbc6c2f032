// What deadlines cost: the CPU time of a call with them and without, and with the least that they could do (least.js)
// and without, each within one process (sides.js). Processes differ by themselves, so there are several sets of them.
//
//   npm run bench -- deadlines [--case http | fetch | undici]... [--sets N] [--bytes N]: of a body
//   npm run bench -- deadlines --soak [--calls N]: whether anything stays behind, see soak.js
import { execFileSync, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machine } from '../machine.js';
import { Results } from '../results.js';
import { median, medianInterval } from '../statistics.js';
import { interval, table } from '../table.js';
import { usage } from '../usage.js';
import { makeCopies, UNDICI } from './sides.js';

const CASES = ['http', 'fetch', 'undici'];
/** What hears of the calls in the two processes of a set. */
const HEARERS = {
  least: new URL('least.js', import.meta.url).href,
  full: 'millrace/deadlines/register',
};
/** Before that, so that something is left which it does not hear of. */
const ORIGINALS = new URL('originals.js', import.meta.url).href;
/** Calls at once, calls in a block, rounds that do not count, rounds that do. */
const AT_ONCE = 10;
const CALLS = 100;
const WARM_UP = 200;
const ROUNDS = 600;
/** What a call with deadlines may cost, against one without. */
const BAR = 1.05;
/** Of a body, if nothing else is asked for. */
const BYTES = 5;

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

export async function main(args) {
  const { cases, sets, bytes, soak: soaking, calls } = options(args);
  if (soaking) return soak(calls);
  const about = {
    suite: 'deadlines',
    machine: machine(),
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
    usage(error.message);
  }
  const unknown = values.case.find((name) => !CASES.includes(name));
  if (unknown !== undefined) usage(`--case ${unknown}: the cases are ${CASES.join(', ')}`);
  const [sets, bytes] = [Number(values.sets), Number(values.bytes)];
  if (!Number.isInteger(sets) || sets < 1) usage(`--sets ${values.sets}: a whole number from 1`);
  if (!Number.isInteger(bytes) || bytes < 0) usage(`--bytes ${values.bytes}: a whole number`);
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

/** In a process of its own, which prints what it found. */
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

/** For each set the CPU time of a call of either side, in both processes. */
async function measure(name, port, sets) {
  const copies = await makeCopies();
  const results = [];
  try {
    for (let set = 0; set < sets; set++) {
      const compare = (hearer) => compareSides(name, port, hearer, copies.folder, set);
      results.push({ least: await compare(HEARERS.least), full: await compare(HEARERS.full) });
    }
  } finally {
    await copies.remove();
  }
  return results;
}

/** Either side is made first in turn. */
async function compareSides(name, port, hearer, folder, set) {
  const first = set % 2 === 0 ? 'heard' : 'unheard';
  const child = fork(file('sides.js'), [name, port, String(AT_ONCE), first, folder], {
    execArgv: ['--import', ORIGINALS, '--import', hearer],
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

/** What a case adds to the suite's file. */
function sectionOf(name, bytes, sets) {
  const of = (pick) => sets.map(pick);
  const costs = [
    ({ least, full }) => (least.unheard + full.unheard) / 2,
    ({ least }) => least.heard,
    ({ full }) => full.heard,
  ].map((pick) => `${median(of(pick)).toFixed(1)} µs`);
  const least = medianInterval(of((one) => one.least.heard / one.least.unheard));
  const full = medianInterval(of((one) => one.full.heard / one.full.unheard));
  const verdict = full.high <= BAR ? 'met' : full.low > BAR ? 'missed' : 'open';
  const head = ['calls by', 'CPU per call, without', 'least', 'with'];
  head.push('least ÷ without', 'with ÷ without');
  return {
    name: bytes === BYTES ? name : `${name}, ${bytes} bytes`,
    lines: [
      ...table(head, [[name, ...costs, interval(least, 3), interval(full, 3)]]),
      '',
      `- bar: with ÷ without ≤ ${BAR}: **${verdict}**`,
    ],
    used: name === 'http' ? [] : ['undici'],
  };
}
