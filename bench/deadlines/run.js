// What deadlines cost: the CPU time of a call with and without them, and with the least that they could do (least.js).
// A process of each kind makes blocks of calls in turn (A B C C B A), so short that what else the machine does weighs on
// all alike. Processes differ by themselves, so there are several sets of them. What undici's calls cost more is asked
// within a process (copies.js): so that what differs from one process to the next, and from one second to the next, is
// in neither side.
//
//   npm run bench -- deadlines [--case http | fetch | undici]... [--sets N]
//   npm run bench -- deadlines --soak [--calls N]: whether anything stays behind, see soak.js
import { execFileSync, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, medianInterval } from '../statistics.js';
import { makeCopies } from './copies.js';

const CASES = ['http', 'fetch', 'undici'];
/** What the processes of a set load first. */
const PRELOADS = {
  without: [],
  least: ['--import', new URL('least.js', import.meta.url).href],
  with: ['--import', 'millrace/deadlines'],
};
const KINDS = Object.keys(PRELOADS);
/** Calls at once, and in a block. */
const AT_ONCE = 10;
const CALLS = 2000;
/** Rounds that do not count. */
const WARM_UP = 3;
/** Those of a set that do. */
const ROUNDS = 6;
/** Of copies within a process: calls in a block, rounds that do not count, rounds that do. */
const PAIRED = { calls: 100, warmUp: 200, rounds: 600 };
/** What a call with deadlines may cost, against one without. */
const BAR = 1.03;

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

export async function main(args) {
  const { values } = parseArgs({
    args,
    options: {
      case: { type: 'string', multiple: true, default: CASES },
      sets: { type: 'string', default: '12' },
      soak: { type: 'boolean', default: false },
      calls: { type: 'string', default: '100000' },
    },
  });
  if (values.soak) {
    soak(values.calls);
    return;
  }
  // A fast server, so that the client is what is busy.
  const server = spawn(
    'taskset',
    ['-c', '0', process.execPath, '--import', 'millrace/register', file('server.js')],
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

function measure(name, port, sets) {
  return name === 'undici' ? measureCopies(port, sets) : measureProcesses(name, port, sets);
}

/** For each set of processes the CPU time of a call, of each kind: medians over its rounds. */
async function measureProcesses(name, port, sets) {
  const results = [];
  for (let set = 0; set < sets; set++) {
    const clients = ofEach((kind) =>
      client('client.js', [name, port, String(AT_ONCE)], PRELOADS[kind]),
    );
    const costs = ofEach(() => []);
    for (let round = -WARM_UP; round < ROUNDS; round++) {
      // Each kind comes first in turn.
      const there = KINDS.map((_, place) => KINDS[(place + round + WARM_UP) % KINDS.length]);
      for (const kind of [...there, ...there.toReversed()]) {
        clients[kind].send(CALLS);
        const [us] = await once(clients[kind], 'message');
        if (round >= 0) costs[kind].push(us);
      }
    }
    for (const one of Object.values(clients)) one.kill();
    const { without, ...others } = ofEach((kind) => median(costs[kind]));
    results.push({
      without,
      least: [others.least, others.least / without],
      with: [others.with, others.with / without],
    });
  }
  return results;
}

/** The same, where a process of either kind tells both sides. */
async function measureCopies(port, sets) {
  const copies = await makeCopies();
  const results = [];
  try {
    for (let set = 0; set < sets; set++) {
      const least = await compareCopies(port, PRELOADS.least, copies, set);
      const full = await compareCopies(port, PRELOADS.with, copies, set);
      results.push({
        without: (least.unheard + full.unheard) / 2,
        least: [least.heard, least.heard / least.unheard],
        with: [full.heard, full.heard / full.unheard],
      });
    }
  } finally {
    await copies.remove();
  }
  return results;
}

/** Either copy is the first to be loaded in turn. */
async function compareCopies(port, preload, { heard, unheard }, set) {
  const folders = set % 2 === 0 ? [heard, unheard] : [unheard, heard];
  const child = client('copies.js', [port, String(AT_ONCE), ...folders], preload);
  const { calls } = PAIRED;
  const make = async (rounds) => {
    child.send({ rounds, calls });
    return (await once(child, 'message'))[0];
  };
  await make(PAIRED.warmUp);
  const costs = await make(PAIRED.rounds);
  child.kill();
  return { heard: costs[folders.indexOf(heard)], unheard: costs[folders.indexOf(unheard)] };
}

function ofEach(make) {
  return Object.fromEntries(KINDS.map((kind) => [kind, make(kind)]));
}

function client(script, args, preload) {
  const child = fork(file(script), args, { execArgv: preload, cwd: file('../..') });
  execFileSync('taskset', ['-a', '-c', '-p', '1', String(child.pid)]);
  return child;
}

function row(name, results) {
  const of = (pick) => results.map(pick);
  const costs = [of((one) => one.without), of((one) => one.least[0]), of((one) => one.with[0])].map(
    (values) => `${median(values).toFixed(1)} µs`,
  );
  const least = medianInterval(of((one) => one.least[1]));
  const full = medianInterval(of((one) => one.with[1]));
  const verdict = full.high <= BAR ? 'met' : full.low > BAR ? 'missed' : 'open';
  const cells = [name, ...costs, told(least), told(full), `≤ ${BAR}: **${verdict}**`];
  return `| ${cells.join(' | ')} |`;
}

function told({ median: middle, low, high }) {
  return `${middle.toFixed(3)} [${low.toFixed(3)}..${high.toFixed(3)}]`;
}
