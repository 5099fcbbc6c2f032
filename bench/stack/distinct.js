// Runs cases with different responses: which of them are stored, and how much memory that takes.
import { fileURLToPath } from 'node:url';
import { formatCount, formatTable } from '../documents/table.js';
import { collect, errorLine, start } from '../harness/processes.js';
import { formatFailures, runRounds, withServer } from '../harness/rounds.js';
import { memoryKb, mib, resetPeak } from './resident.js';

const client = fileURLToPath(new URL('distinct-client.js', import.meta.url));
/** Load on one URL before the measurement, after which the heap has its usual size. */
const WARMUP = { connections: 16, seconds: 3 };

/** Runs a case once for each row; resolves with `{ runs, failures }`. */
export function run(bench, context) {
  const { responses, bytes } = bench.distinct;
  const measure = async (name, load) => {
    const server = context.found.get(name).server(load);
    const { used } = await withServer({ server }, context, async (run, running) => {
      const { port, pid } = running;
      await run('millrace', WARMUP, { observe: false });
      const warmKb = memoryKb(pid, 'VmRSS');
      resetPeak(pid);
      const said = await runClient([port, responses, bytes], context.cores.client);
      await running.sample();
      return { warmKb, peakKb: memoryKb(pid, 'VmHWM'), endKb: memoryKb(pid, 'VmRSS'), ...said };
    });
    return used;
  };
  return runRounds(bench, { ...context, rounds: 1 }, measure, { back: false });
}

/** Runs the client and resolves with its output: `{ bytes, asked, hits }`. */
async function runClient(what, cores) {
  const child = start([process.execPath, client, ...what].map(String), cores);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const { code } = await child.exited;
  if (code !== 0) throw new Error(errorLine(stderr()));
  return JSON.parse(stdout());
}

const growthKb = ({ warmKb, peakKb }) => peakKb - warmKb;

/** Formats the result of a case as lines. */
export function summarize({ bars }, { runs, failures }) {
  const rows = runs.map((one) => [
    one.row,
    mib(one.bytes / 1024),
    `${formatCount(one.hits)} of ${formatCount(one.asked)}`,
    mib(one.warmKb),
    mib(one.peakKb),
    mib(one.endKb),
    mib(growthKb(one)),
  ]);
  const head = ['server', 'MiB received', 'hits among the repeated requests', 'MiB before'];
  head.push('peak', 'at the end', 'growth');
  return [
    ...formatTable(head, rows),
    '',
    ...formatFailures(failures),
    ...bars.map((bar) => checkBar(bar, runs)),
  ];
}

/** Formats the line that says whether a bar is met. */
function checkBar({ row, than, atMostMib }, runs) {
  const bar = `- bar: ${row} grows by at most ${atMostMib} MiB more than ${than}, and has hits`;
  const [one, base] = [row, than].map((name) => runs.find((candidate) => candidate.row === name));
  if (!one || !base) return `${bar}: not measured`;
  const more = (growthKb(one) - growthKb(base)) / 1024;
  const met = more <= atMostMib && one.hits > 0;
  return `${bar}: **${met ? 'met' : 'missed'}** (${more.toFixed(1)} MiB)`;
}
