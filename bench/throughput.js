// Cases of throughput: the clients in turn against one server.
import { disturbanceLine } from './quiet.js';
import { judge, relative } from './ratios.js';
import { failureLines, runRounds, withServer } from './rounds.js';
import { median, steady } from './statistics.js';
import { count, share, table } from './table.js';

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
  const barLines = (bench.bars ?? []).map((bar) => judge(bar, runs));
  return [...table(head, rows), '', ...failureLines(failures), ...barLines, disturbanceLine(runs)];
}

const optionalColumns = {
  connections: ['requests/connection', (of) => of('requestsPerConnection').toPrecision(3)],
  resumed: ['resumed', (of) => share(of('resumed'))],
};

function said(runs, row) {
  const own = runs.filter((one) => one.row === row);
  return median(own.map((one) => one.said.requestsPerSecond / one.requestsPerSecond));
}

function errors(runs, row) {
  const own = runs.filter((one) => one.row === row);
  return own.reduce((sum, one) => sum + one.said.errors, 0);
}
