// Where the CPU time of one hello request goes: nginx, the stack and plain node:http, by Linux perf.
//
//   npm run bench -- budget [--node VERSION|BINARY] [--rounds N]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runClient } from '../clients/client.js';
import { isOnPath } from '../clients/tools.js';
import { Results } from '../documents/results.js';
import { formatTable } from '../documents/table.js';
import { describeMachine } from '../harness/machine.js';
import { findNodes } from '../harness/nodes.js';
import { start } from '../harness/processes.js';
import { computeMedian } from '../harness/statistics.js';
import { exitWithUsageError } from '../harness/usage.js';
import { startServer } from '../servers/server.js';
import { findRuntimes } from '../stack/runtimes.js';
import { KERNEL_PARTS, PARTS, readShares } from './parts.js';

const ROWS = ['nginx', 'millrace', 'node'];
const CORES = { server: '0', client: '1' };
const CONNECTIONS = 50;
const WARM_UP_SECONDS = 3;
const SECONDS = 5;
/** Samples per second. */
const FREQUENCY = 4000;

export async function main(args) {
  const { node, rounds } = readOptions(args);
  for (const needed of ['perf', 'nginx']) {
    if (!isOnPath(needed)) exitWithUsageError(`${needed} is missing (linux-perf, nginx)`);
  }
  const runtimes = findRuntimes({ node: node.binary });
  const directory = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  execFileSync('taskset', ['-a', '-c', '-p', CORES.server, `${process.pid}`]);
  const runs = [];
  for (let round = 0; round < rounds; round++) {
    for (const row of ROWS) {
      runs.push({ row, round, ...(await measure(runtimes.get(row), directory)) });
      process.stderr.write('.');
    }
  }
  process.stderr.write('\n');
  write(runs, { node, rounds, versions: { nginx: runtimes.get('nginx').version } });
}

function readOptions(args) {
  const options = { node: { type: 'string' }, rounds: { type: 'string', default: '3' } };
  let values;
  try {
    ({ values } = parseArgs({ args, options }));
  } catch (error) {
    exitWithUsageError(error.message);
  }
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) {
    exitWithUsageError(`--rounds ${values.rounds}: a whole number from 1`);
  }
  const [node] = findNodes(values.node === undefined ? [] : [values.node]);
  return { node, rounds };
}

/** Microseconds of CPU time per request by part, and in all. */
async function measure(runtime, directory) {
  const place = { cores: CORES.server, directory };
  const server = await startServer(runtime.server({ app: 'hello' }), place);
  try {
    const load = { url: server.url, port: server.port, connections: CONNECTIONS };
    const context = { cores: CORES.client, server, directory, observe: false };
    await runClient('millrace', { ...load, seconds: WARM_UP_SECONDS }, context);
    const run = await runClient('millrace', { ...load, seconds: SECONDS }, context);
    const total = (run.serverCpuSeconds * 1e6) / run.said.requests;
    // In a run of its own, as it costs time.
    const file = join(directory, 'perf.data');
    const sampling = ['-g', '-F', `${FREQUENCY}`, '-p', `${server.pid}`];
    const record = ['perf', 'record', '-o', file, ...sampling];
    const recorder = start(record, CORES.client);
    await runClient('millrace', { ...load, seconds: SECONDS }, context);
    recorder.kill('SIGINT');
    await recorder.exited;
    const shares = readShares({
      symbols: report(file, 'sym', '--children'),
      files: report(file, 'dso', '--no-children'),
    });
    const parts = Object.entries(shares).map(([part, share]) => [part, share * total]);
    return { total, ...Object.fromEntries(parts) };
  } finally {
    await server.stop();
  }
}

function report(file, key, children) {
  const args = ['report', '-i', file, '--stdio', '-g', 'none', '--sort', key, children];
  const options = { encoding: 'utf8', maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'ignore'] };
  return execFileSync('perf', args, options);
}

function write(runs, { node, rounds, versions }) {
  const about = {
    suite: 'budget',
    machine: { ...describeMachine(), node: node.version },
    versions,
    runs: `${rounds} rounds, runs of ${SECONDS} s`,
    reading: 'Microseconds of CPU time per request, medians over the rounds.',
  };
  const results = new Results('budget', about, ['hello']);
  const median = (row, part) =>
    computeMedian(runs.filter((run) => run.row === row).map((run) => run[part]));
  const rows = [...PARTS, 'total'].map((part) => [
    KERNEL_PARTS.includes(part) ? `kernel: ${part}` : part,
    ...ROWS.map((row) => median(row, part).toFixed(2)),
  ]);
  const lines = [
    'Where does the CPU time of a hello request go, on 50 connections that stay?',
    '',
    ...formatTable(['µs per request', ...ROWS], rows),
  ];
  console.log(lines.join('\n'));
  results.add({ name: 'hello' }, { runs }, ['## hello', '', ...lines, '']);
  results.publish({ name: 'hello', lines, used: ['nginx'] });
  console.log(`written: ${results.paths}`);
}
