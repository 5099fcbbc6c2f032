// What deadlines cost: the CPU time of a call with them and without, and with the least that they could do (least.js)
// and without, each within one process (sides.js). Processes differ by themselves, so there are several sets of them.
//
//   npm run bench -- deadlines [--case http | fetch | undici]... [--sets N] [--bytes N]: of a body
//   npm run bench -- deadlines --soak [--calls N]: whether anything stays behind, see soak.js
import { execFileSync, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, medianInterval } from '../statistics.js';
import { makeCopies } from './sides.js';

const CASES = ['http', 'fetch', 'undici'];
/** What hears of the calls in the two processes of a set. */
const HEARERS = {
  least: new URL('least.js', import.meta.url).href,
  full: 'millrace/deadlines',
};
/** Before that, so that something is left which it does not hear of. */
const ORIGINALS = new URL('originals.js', import.meta.url).href;
/** Calls at once, calls in a block, rounds that do not count, rounds that do. */
const AT_ONCE = 10;
const CALLS = 100;
const WARM_UP = 200;
const ROUNDS = 600;
/** What a call with deadlines may cost, against one without. */
const BAR = 1.03;

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

export async function main(args) {
  const { values } = parseArgs({
    args,
    options: {
      case: { type: 'string', multiple: true, default: CASES },
      sets: { type: 'string', default: '12' },
      bytes: { type: 'string', default: '5' },
      soak: { type: 'boolean', default: false },
      calls: { type: 'string', default: '100000' },
    },
  });
  if (values.soak) {
    soak(values.calls);
    return;
  }
  const unknown = values.case.find((name) => !CASES.includes(name));
  if (unknown !== undefined) {
    console.error(`--case ${unknown}: there are only ${CASES.join(', ')}`);
    process.exitCode = 1;
    return;
  }
  // A fast server, so that the client is what is busy.
  const server = spawn(
    'taskset',
    ['-c', '0', process.execPath, '--import', 'millrace/register', file('server.js'), values.bytes],
    {
      cwd: file('../..'),
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  try {
    const port = String((await once(server.stdout, 'data'))[0]).trim();
    console.log(
      '| calls by | CPU per call, without | least | with | least / without | with / without | bar |',
    );
    console.log('|---|---|---|---|---|---|---|');
    for (const name of values.case) {
      console.log(row(name, await measure(name, port, Number(values.sets))));
    }
  } finally {
    server.kill();
  }
}

/** In a process of its own, which prints what it found. */
function soak(calls) {
  const argv = ['--import', 'millrace/deadlines', file('soak.js'), calls];
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

function row(name, results) {
  const of = (pick) => results.map(pick);
  const costs = [
    ({ least, full }) => (least.unheard + full.unheard) / 2,
    ({ least }) => least.heard,
    ({ full }) => full.heard,
  ].map((pick) => `${median(of(pick)).toFixed(1)} µs`);
  const least = medianInterval(of((one) => one.least.heard / one.least.unheard));
  const full = medianInterval(of((one) => one.full.heard / one.full.unheard));
  const verdict = full.high <= BAR ? 'met' : full.low > BAR ? 'missed' : 'open';
  const cells = [name, ...costs, told(least), told(full), `≤ ${BAR}: **${verdict}**`];
  return `| ${cells.join(' | ')} |`;
}

function told({ median: middle, low, high }) {
  return `${middle.toFixed(3)} [${low.toFixed(3)}..${high.toFixed(3)}]`;
}
