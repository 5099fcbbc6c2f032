// What deadlines cost: the CPU time of a call with and without them. Two processes make blocks of calls in turn (A B B A),
// so short that what else the machine does weighs on both alike. Processes differ by themselves, so there are several pairs.
//
//   npm run bench -- deadlines [--case http | fetch | undici]... [--pairs N]
//   npm run bench -- deadlines --soak [--calls N]: whether anything stays behind, see soak.js
import { execFileSync, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, medianInterval } from '../statistics.js';

const CASES = ['http', 'fetch', 'undici'];
const ROWS = ['without', 'with'];
/** Calls at once, and in a block. */
const AT_ONCE = 10;
const CALLS = 2000;
/** Rounds that do not count. */
const WARM_UP = 3;
/** Those of a pair that do. */
const ROUNDS = 5;
const PRELOAD = ['--import', 'millrace/deadlines'];
/** What a call with deadlines may cost, against one without. */
const BAR = 1.03;

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

export async function main(args) {
  const { values } = parseArgs({
    args,
    options: {
      case: { type: 'string', multiple: true, default: CASES },
      pairs: { type: 'string', default: '12' },
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
    console.log('| calls by | CPU per call, without | with | ratio (95 % interval) | bar |');
    console.log('|---|---|---|---|---|');
    for (const name of values.case) {
      console.log(row(name, await measure(name, port, Number(values.pairs))));
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

/** For each pair of processes the CPU time of a call, without and with deadlines: medians over its rounds. */
async function measure(name, port, pairs) {
  const results = [];
  for (let pair = 0; pair < pairs; pair++) {
    const clients = { without: client(name, port, []), with: client(name, port, PRELOAD) };
    const costs = { without: [], with: [] };
    for (let round = -WARM_UP; round < ROUNDS; round++) {
      const there = round % 2 === 0 ? ROWS : ROWS.toReversed();
      for (const which of [...there, ...there.toReversed()]) {
        clients[which].send(CALLS);
        const [us] = await once(clients[which], 'message');
        if (round >= 0) costs[which].push(us);
      }
    }
    for (const one of Object.values(clients)) one.kill();
    results.push({ without: median(costs.without), with: median(costs.with) });
  }
  return results;
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
  const of = (which) => medianInterval(results.map((one) => one[which])).median.toFixed(1);
  const {
    median: middle,
    low,
    high,
  } = medianInterval(results.map((one) => one.with / one.without));
  const verdict = high <= BAR ? 'met' : low > BAR ? 'missed' : 'open';
  const ratio = `${middle.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
  return `| ${name} | ${of('without')} µs | ${of('with')} µs | ${ratio} | ≤ ${BAR}: **${verdict}** |`;
}
