// Runs cases of a flood: one connection writes requests without waiting for responses.
import { fileURLToPath } from 'node:url';
import { formatCount, formatTable } from '../documents/table.js';
import { collect, end, errorLine, start } from '../harness/processes.js';
import { formatFailures, runRounds, withServer } from '../harness/rounds.js';
import { memoryKb, mib, resetPeak } from './resident.js';

const client = fileURLToPath(new URL('flood-client.js', import.meta.url));
/** Load on `/` before the flood, after which the heap has its usual size. */
const WARMUP = { connections: 50, seconds: 3 };

/** Runs a case once for each row; resolves with `{ runs, failures }`. */
export function run(bench, context) {
  const { requests, limitSeconds } = bench.flood;
  const measure = async (name, load) => {
    const server = context.found.get(name).server(load);
    const { used } = await withServer({ server }, context, async (run, running) => {
      const { port, pid } = running;
      const startKb = memoryKb(pid, 'VmRSS');
      await run('millrace', WARMUP, { observe: false });
      const warmKb = memoryKb(pid, 'VmRSS');
      resetPeak(pid);
      const said = await runFlood({ port, requests, limitSeconds }, context.cores.client);
      // Throws if the server has ended.
      await running.sample();
      return { startKb, warmKb, peakKb: memoryKb(pid, 'VmHWM'), requests, ...said };
    });
    return used;
  };
  return runRounds(bench, { ...context, rounds: 1 }, measure, { back: false });
}

/** Runs the client and resolves with its output: `{ answered, fault, seconds }`. */
async function runFlood({ port, requests, limitSeconds }, cores) {
  const child = start([process.execPath, client, port, requests].map(String), cores);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const timer = setTimeout(() => end(child), limitSeconds * 1000);
  const { code } = await child.exited;
  clearTimeout(timer);
  if (code !== 0) throw new Error(errorLine(stderr()));
  return JSON.parse(stdout());
}

const growthMib = ({ warmKb, peakKb }) => (peakKb - warmKb) / 1024;

/** Formats the result of a case as lines. */
export function summarize({ bars }, { runs, failures }) {
  const rows = runs.map((one) => [
    one.row,
    `${formatCount(one.answered)} of ${formatCount(one.requests)}`,
    one.seconds.toFixed(1),
    mib(one.startKb),
    mib(one.warmKb),
    mib(one.peakKb),
    growthMib(one).toFixed(1),
  ]);
  const head = ['server', 'answered in order', 'seconds', 'MiB at the start', 'after a warm-up'];
  head.push('peak in the flood', 'growth');
  const faults = runs.flatMap(({ row, fault }) => (fault ? [`- ${row}: ${fault}`] : []));
  return [
    ...formatTable(head, rows),
    '',
    ...formatFailures(failures),
    ...faults,
    ...bars.map((bar) => checkBar(bar, runs)),
  ];
}

/** Formats the line that says whether a bar is met. */
function checkBar({ row = 'millrace', atMost }, runs) {
  const bar = `- bar: ${row} answers all in order and grows by at most ${atMost} MiB`;
  const one = runs.find((candidate) => candidate.row === row);
  if (!one) return `${bar}: not measured`;
  const met = one.answered === one.requests && growthMib(one) <= atMost;
  return `${bar}: **${met ? 'met' : 'missed'}**`;
}
