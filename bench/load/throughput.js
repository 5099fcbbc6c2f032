// Cases of throughput: the clients take turns with one server.
import { createBody } from '../clients/bodies.js';
import { formatCount, formatShare, formatTable, formatThreeDigits } from '../documents/table.js';
import { formatDisturbance } from '../harness/quiet.js';
import { checkBar, describeBars, formatRatio } from '../harness/ratios.js';
import { formatFailures, runRounds, withServer } from '../harness/rounds.js';
import { computeMedian, findSteadyPart } from '../harness/statistics.js';

/** Runs a case; `{ runs, failures }`. */
export async function run(bench, context) {
  const body = createBody(bench.load, context.directory);
  const { used } = await withServer(bench, context, (run) =>
    runRounds(bench, context, async (tool, load) =>
      summarizeSamples(await run(tool, { ...load, ...body })),
    ),
  );
  return used;
}

/** Summarizes the samples of a run. */
function summarizeSamples({ samples, ...outcome }) {
  const window = findSteadyPart(samples);
  if (!window) throw new Error('no requests arrived');
  const { server } = outcome;
  return {
    ...outcome,
    ...window,
    requestsPerConnection: server.requests / Math.max(1, server.connections),
    resumed: server.tlsResumed / (server.tlsFull + server.tlsResumed),
  };
}

/** Formats the result of a case. */
export function summarize(bench, { runs, failures }) {
  if (runs.length === 0) return formatFailures(failures);
  const names = [...new Set(runs.map(({ row }) => row))];
  const base = names.includes(bench.baseline) ? bench.baseline : names[0];
  const columns = [
    ['requests/s', (of) => formatCount(of('requestsPerSecond'))],
    [`÷ ${base}`, (_, row) => formatRatio(runs, row, base, 'requestsPerSecond')],
    ['CPU µs/request', (of) => formatThreeDigits(of('cpuUsPerRequest'))],
    [`÷ ${base}`, (_, row) => formatRatio(runs, row, base, 'cpuUsPerRequest')],
    ['client busy', (of) => formatShare(of('clientBusy'))],
    ['server busy', (of) => formatShare(of('serverBusy'))],
    ...(bench.columns ?? []).map((name) => optionalColumns[name]),
    ['says ÷ counted', (_, row) => formatReported(runs, row).toFixed(3)],
    ['errors', (_, row) => formatCount(formatErrors(runs, row))],
  ];
  const rows = names.map((row) => {
    const of = (metric) =>
      computeMedian(runs.filter((one) => one.row === row).map((one) => one[metric]));
    return [row, ...columns.map(([, cell]) => cell(of, row))];
  });
  const head = ['client', ...columns.map(([title]) => title)];
  const barLines = (bench.bars ?? []).map((bar) => checkBar(bar, runs));
  return [
    ...formatTable(head, rows),
    '',
    ...formatFailures(failures),
    ...barLines,
    formatDisturbance(runs),
  ];
}

/** Describes the result of a case for the tables. */
export function describe(bench, { runs }) {
  return describeBars(bench, runs, bench.bars[0]?.metric ?? 'requestsPerSecond');
}

const optionalColumns = {
  connections: ['requests/connection', (of) => of('requestsPerConnection').toPrecision(3)],
  resumed: ['resumed', (of) => formatShare(of('resumed'))],
};

function formatReported(runs, row) {
  const own = runs.filter((one) => one.row === row);
  return computeMedian(own.map((one) => one.said.requestsPerSecond / one.requestsPerSecond));
}

function formatErrors(runs, row) {
  const own = runs.filter((one) => one.row === row);
  return own.reduce((sum, one) => sum + one.said.errors, 0);
}
