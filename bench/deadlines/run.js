// What deadlines cost: the CPU time of a call with and without them, in blocks that alternate (A B B A).
//
//   npm run bench -- deadlines [--case http | fetch | undici]... [--rounds N] [--seconds N]
//   npm run bench -- deadlines --soak [--calls N]: whether anything stays behind, see soak.js
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { medianInterval } from '../statistics.js';

const CASES = ['http', 'fetch', 'undici'];
const ROWS = ['without', 'with'];
/** Calls at once. */
const AT_ONCE = 10;
/** What a call with deadlines may cost, against one without. */
const BAR = 1.03;

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

export async function main(args) {
  const { values } = parseArgs({
    args,
    options: {
      case: { type: 'string', multiple: true, default: CASES },
      rounds: { type: 'string', default: '10' },
      seconds: { type: 'string', default: '2' },
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
      console.log(row(name, measure(name, port, Number(values.rounds), values.seconds)));
    }
  } finally {
    server.kill();
  }
}

/** In a process of its own, which prints what it found. */
function soak(calls) {
  const argv = ['--import', 'millrace/deadlines', file('soak.js'), calls];
  const env = { ...process.env, MILLRACE_DEADLINE_TOTAL: '200ms' };
  const { status } = spawnSync(process.execPath, argv, {
    cwd: file('../..'),
    env,
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}

/** For each round the CPU time of a call, without and with deadlines: the means of there and back. */
function measure(name, port, rounds, seconds) {
  const results = [];
  for (let round = 0; round < rounds; round++) {
    const sums = { without: 0, with: 0 };
    const there = round % 2 === 0 ? ROWS : ROWS.toReversed();
    for (const which of [...there, ...there.toReversed()]) {
      sums[which] += block(name, port, seconds, which).cpuUs / 2;
    }
    results.push(sums);
  }
  return results;
}

function block(name, port, seconds, which) {
  const preload = which === 'with' ? ['--import', 'millrace/deadlines'] : [];
  const argv = ['-c', '1', process.execPath, ...preload, file('client.js'), name, port];
  const output = execFileSync('taskset', [...argv, String(AT_ONCE), seconds], {
    cwd: file('../..'),
  });
  return JSON.parse(output);
}

function row(name, results) {
  const of = (which) => medianInterval(results.map((one) => one[which])).median.toFixed(1);
  const { median, low, high } = medianInterval(results.map((one) => one.with / one.without));
  const verdict = high <= BAR ? 'met' : low > BAR ? 'missed' : 'open';
  const ratio = `${median.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
  return `| ${name} | ${of('without')} µs | ${of('with')} µs | ${ratio} | ≤ ${BAR}: **${verdict}** |`;
}
