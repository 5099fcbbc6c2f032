// Cases of throughput: the clients in turn against one server.
import { disturbanceLine } from './quiet.js';
import { failureLines, runRounds, withServer } from './rounds.js';
import { median, medianInterval, steady } from './statistics.js';
import { count, interval, share, table } from './table.js';

/** Runs a case; `{ runs, failures }`. */
export async function run(bench, context) {
  const { used } = await withServer(bench, context, (run) =>
    runRounds(bench, context, async (tool, load) => figures(await run(tool, load))),
  );
  return used;
}

/** What the samples of a run amount to. */
function figures({ samples, ...outcome }) {
  const window = steady(samples);
  if (!window) throw new Error('no requests arrived');
  const { server } = outcome;
  return {
    ...outcome,
    ...window,
    requestsPerConnection: server.requests / Math.max(1, server.connections),
    resumed: server.tlsResumed / (server.tlsFull + server.tlsResumed),
  };
}

/** The lines of a case's result. */
export function summarize(bench, { runs, failures }) {
  if (runs.length === 0) return failureLines(failures);
  const names = [...new Set(runs.map(({ row }) => row))];
  const base = names.includes(bench.baseline) ? bench.baseline : names[0];
  const columns = [
    ['requests/s', (of) => count(of('requestsPerSecond'))],
    [`÷ ${base}`, (_, row) => relative(runs, row, base, 'requestsPerSecond')],
    ['CPU µs/request', (of) => of('cpuUsPerRequest').toPrecision(3)],
    [`÷ ${base}`, (_, row) => relative(runs, row, base, 'cpuUsPerRequest')],
    ['client busy', (of) => share(of('clientBusy'))],
    ['server busy', (of) => share(of('serverBusy'))],
    ...(bench.columns ?? []).map((name) => optionalColumns[name]),
    ['says ÷ counted', (_, row) => said(runs, row).toFixed(3)],
    ['errors', (_, row) => count(errors(runs, row))],
  ];
  const rows = names.map((row) => {
    const of = (metric) => median(runs.filter((one) => one.row === row).map((one) => one[metric]));
    return [row, ...columns.map(([, cell]) => cell(of, row))];
  });
  const head = ['client', ...columns.map(([title]) => title)];
  const barLines = (bench.bars ?? []).map((bar) => judge(bar, runs, names));
  return [...table(head, rows), '', ...failureLines(failures), ...barLines, disturbanceLine(runs)];
}

const optionalColumns = {
  connections: ['requests/connection', (of) => of('requestsPerConnection').toPrecision(3)],
  resumed: ['resumed', (of) => share(of('resumed'))],
};

/** The ratio of a metric to that of another row: the median over the rounds, of the mean in each. */
function ratio(runs, row, base, metric) {
  const mean = (round, name) => {
    const values = runs.filter((one) => one.round === round && one.row === name);
    return values.reduce((sum, one) => sum + one[metric], 0) / values.length;
  };
  const rounds = [...new Set(runs.map(({ round }) => round))];
  return medianInterval(rounds.map((round) => mean(round, row) / mean(round, base)));
}

function relative(runs, row, base, metric) {
  return row === base ? '1' : interval(ratio(runs, row, base, metric));
}

function said(runs, row) {
  const own = runs.filter((one) => one.row === row);
  return median(own.map((one) => one.said.requestsPerSecond / one.requestsPerSecond));
}

function errors(runs, row) {
  const own = runs.filter((one) => one.row === row);
  return own.reduce((sum, one) => sum + one.said.errors, 0);
}

/** The line that says whether a bar is met. */
function judge(
  { row = 'millrace', than, metric = 'requestsPerSecond', atLeast, atMost },
  runs,
  names,
) {
  const what = metric === 'requestsPerSecond' ? 'requests/s' : 'CPU per request';
  const bar = `- bar: ${what} of ${row} ${atLeast ? `≥ ${atLeast}` : `≤ ${atMost}`} × ${than}`;
  if (!names.includes(row) || !names.includes(than)) return `${bar}: not measured`;
  const measured = ratio(runs, row, than, metric);
  return `${bar}: ${interval(measured, 3)}, **${verdict(measured, atLeast, atMost)}**`;
}

function verdict({ low, high }, atLeast = -Infinity, atMost = Infinity) {
  if (low >= atLeast && high <= atMost) return 'met';
  if (high < atLeast || low > atMost) return 'missed';
  return 'open: the bar lies within the interval';
}
