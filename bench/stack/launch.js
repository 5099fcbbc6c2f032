// Runs cases of launching: an application from the start of its process until it listens.
import { createInterface } from 'node:readline';
import { formatInterval, formatTable } from '../documents/table.js';
import { readMachineBusySeconds } from '../harness/proc.js';
import { collect, end, errorLine, start } from '../harness/processes.js';
import { formatDisturbance } from '../harness/quiet.js';
import { formatFailures, runRounds } from '../harness/rounds.js';
import { computeMedian, computeMedianInterval } from '../harness/statistics.js';
import { findApp } from './app.js';

/** A round starts each row twice. */
const LEAST_ROUNDS = 10;

/** Runs a case; resolves with `{ runs, failures, others }`, the latter for the case as a whole: a start is too short for it. */
export async function run(bench, context) {
  const rounds = Math.max(LEAST_ROUNDS, context.rounds);
  const busyBefore = readMachineBusySeconds();
  const begin = performance.now();
  const launchOne = (name, load) => launch(context.found.get(name).server(load), context.cores);
  const { runs, failures } = await runRounds(bench, { ...context, rounds }, launchOne);
  const busy = readMachineBusySeconds() - busyBefore;
  const own = runs.reduce((sum, { processMs }) => sum + processMs, 0) / 1000;
  const seconds = (performance.now() - begin) / 1000;
  return { runs, failures, others: Math.max(0, busy - own) / seconds };
}

/** Starts an application, which says in a line how much CPU time it has used until it listens. */
async function launch({ argv, app }, { server: cores }) {
  const begin = performance.now();
  const child = start([...argv, findApp(app)], cores);
  const stderr = collect(child.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { done, value } = await lines.next();
  const wallMs = performance.now() - begin;
  end(child);
  await child.exited;
  if (done) throw new Error(`the application did not start: ${errorLine(stderr())}`);
  const { cpuMs } = JSON.parse(value);
  return { wallMs, cpuMs, processMs: cpuMs, others: 0 };
}

/** Computes how much more a row takes than the baseline: the median over rounds of the difference of means. */
export function computeMore(runs, row, base, metric) {
  const mean = (round, name) => {
    const own = runs.filter((one) => one.round === round && one.row === name);
    return own.reduce((sum, one) => sum + one[metric], 0) / own.length;
  };
  const rounds = [...new Set(runs.map(({ round }) => round))];
  return computeMedianInterval(rounds.map((round) => mean(round, row) - mean(round, base)));
}

/** Formats the result of a case as lines. */
export function summarize(bench, { runs, failures, others }) {
  if (runs.length === 0) return formatFailures(failures);
  const names = [...new Set(runs.map(({ row }) => row))];
  const columns = (metric) => [
    (row) => computeMedian(runs.filter((one) => one.row === row).map((one) => one[metric])),
    (row) => computeMore(runs, row, bench.baseline, metric),
  ];
  const rows = names.map((row) => [
    row,
    ...['wallMs', 'cpuMs'].flatMap((metric) => {
      const [median, more] = columns(metric);
      return [median(row).toFixed(1), row === bench.baseline ? '-' : formatInterval(more(row), 1)];
    }),
  ]);
  const head = ['server', 'ms until it listens', 'more', 'CPU ms', 'more'];
  return [
    ...formatTable(head, rows),
    '',
    ...formatFailures(failures),
    ...bench.bars.map((bar) => `- bar: ${judgeBar(bar, bench, runs)}`),
    `- ${runs.length / names.length} starts of each`,
    formatDisturbance([{ others, attempts: 1 }]),
  ];
}

function judgeBar({ row = 'millrace', atMostMs }, { baseline }, runs) {
  const demand = `${row} takes at most ${atMostMs} ms more`;
  const there = (name) => runs.some((one) => one.row === name);
  if (!there(row) || !there(baseline)) return `${demand}: not measured`;
  const more = computeMore(runs, row, baseline, 'wallMs');
  const verdict = more.high <= atMostMs ? 'met' : more.low > atMostMs ? 'missed' : 'open';
  return `${demand}: ${formatInterval(more, 1)}, **${verdict}**`;
}

/** Describes the result of a case for the tables. */
export function describe(bench, { runs }) {
  if (!runs.some(({ row }) => row === 'millrace')) return null;
  const more = formatInterval(computeMore(runs, 'millrace', bench.baseline, 'wallMs'), 1);
  const bars = bench.bars.map((bar) => {
    const verdict = /\w+$/.exec(judgeBar(bar, bench, runs).replaceAll('*', ''))[0];
    return `at most ${bar.atMostMs} ms more: ${verdict}`;
  });
  return { main: `${more} ms more`, peers: {}, bars };
}
