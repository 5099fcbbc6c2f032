// What deadlines cost: the CPU time of a call with and without them, and with the least that they could do (least.js).
// A process of each kind makes blocks of calls in turn (A B C C B A), so short that what else the machine does weighs on
// all alike. Processes differ by themselves, so there are several sets of them.
//
//   npm run bench -- deadlines [--case http | fetch | undici]... [--sets N]
//   npm run bench -- deadlines --soak [--calls N]: whether anything stays behind, see soak.js
import { execFileSync, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, medianInterval } from '../statistics.js';

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

/** For each set of processes the CPU time of a call, of each kind: medians over its rounds. */
async function measure(name, port, sets) {
  const results = [];
  for (let set = 0; set < sets; set++) {
    const clients = ofEach((kind) => client(name, port, PRELOADS[kind]));
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
    results.push(ofEach((kind) => median(costs[kind])));
  }
  return results;
}

function ofEach(make) {
  return Object.fromEntries(KINDS.map((kind) => [kind, make(kind)]));
}

function client(name, port, preload) {
  const child = fork(file('client.js'), [name, port, String(AT_ONCE)], {
    execArgv: preload,
    cwd: file('../..'),
  });
  execFileSync('taskset', ['-a', '-c', '-p', '1', String(child.pid)]);
  return child;
}

function row(name, results) {
  const costs = KINDS.map((kind) => `${median(results.map((one) => one[kind])).toFixed(1)} µs`);
  const least = medianInterval(results.map((one) => one.least / one.without));
  const full = medianInterval(results.map((one) => one.with / one.without));
  const verdict = full.high <= BAR ? 'met' : full.low > BAR ? 'missed' : 'open';
  const cells = [name, ...costs, told(least), told(full), `≤ ${BAR}: **${verdict}**`];
  return `| ${cells.join(' | ')} |`;
}

function told({ median: middle, low, high }) {
  return `${middle.toFixed(3)} [${low.toFixed(3)}..${high.toFixed(3)}]`;
}
