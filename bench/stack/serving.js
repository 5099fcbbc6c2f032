// Runs cases of serving: the servers in turn under the same load from millrace.
import { createBody } from '../clients/bodies.js';
import { formatCount, formatRuns, formatShare, formatThreeDigits } from '../documents/table.js';
import { formatDisturbance } from '../harness/quiet.js';
import { checkBar, describeBars, formatRatio } from '../harness/ratios.js';
import { formatFailures, runRounds, withServer } from '../harness/rounds.js';
import { computeMedian } from '../harness/statistics.js';
import { formatFallbacks, formatNativeShare, refuseFailed } from './served.js';

/** Load before each measurement, in which hot code is compiled. */
const WARMUP_SECONDS = 1;

/** Runs a case with a new server for each run; resolves with `{ runs, failures, rate }`. */
export async function run(bench, context) {
  const serve = (name, load) => measure(name, load, context);
  if (!bench.shareOfCapacity) return runRounds(bench, context, serve);
  const flatOut = { ...bench, name: `${bench.name}, capacity`, tools: [bench.baseline] };
  const { runs, failures } = await runRounds(flatOut, context, serve, { back: false });
  if (runs.length === 0) return { runs, failures };
  const capacity = computeMedian(runs.map(({ requestsPerSecond }) => requestsPerSecond));
  const rate = Math.round(capacity * bench.shareOfCapacity);
  const load = { ...bench.load, rate, poisson: true };
  return { ...(await runRounds({ ...bench, load }, context, serve)), rate };
}

async function measure(name, load, context) {
  const server = context.found.get(name).server(load);
  const asked = { ...load, ...createBody(load, context.directory), warmup: WARMUP_SECONDS };
  const { used, stopped } = await withServer({ server }, context, (run) =>
    run('millrace', asked, { observe: false }),
  );
  const { command, others, said } = used;
  refuseFailed(said);
  const requestsPerCpuSecond = said.requestsPerSecond / said.serverBusy;
  const cpuUsPerRequest = 1e6 / requestsPerCpuSecond;
  // A client that waited for its core was disturbed by other processes, even if they used little CPU in total.
  const disturbed = Math.max(others, said.starved ?? 0);
  const { served = null, moved } = stopped;
  const cpu = { requestsPerCpuSecond, cpuUsPerRequest };
  return { command, ...said, others: disturbed, ...cpu, served, moved };
}

/** Formats the result of a case as lines. */
export function summarize(bench, { runs, failures, rate }) {
  if (runs.length === 0) return formatFailures(failures);
  const names = [...new Set(runs.map(({ row }) => row))];
  const base = names.includes(bench.baseline) ? bench.baseline : names[0];
  const compared = (title, metric, show) => [
    [title, (own) => show(computeMedian(own.map((one) => one[metric])))],
    [`÷ ${base}`, (_, row) => formatRatio(runs, row, base, metric)],
  ];
  const columns = [
    ...compared('requests/s', 'requestsPerSecond', formatCount),
    ...compared('p95 ms', 'p95Ms', formatThreeDigits),
    ['p99 ms', (own) => formatThreeDigits(computeMedian(own.map((one) => one.p99Ms)))],
    ...compared('CPU µs/request', 'cpuUsPerRequest', formatThreeDigits),
    ['server busy', (own) => formatShare(computeMedian(own.map((one) => one.serverBusy)))],
    ['client busy', (own) => formatShare(computeMedian(own.map((one) => one.generatorBusy)))],
    ...(bench.columns ?? []).map((name) => optionalColumns[name]),
    ['native', formatNativeShare],
    ['errors', (own) => formatCount(own.reduce((sum, one) => sum + one.errors, 0))],
  ];
  return [
    ...formatRuns('server', columns, names, runs),
    '',
    ...(rate ? [`- sent: ${formatCount(rate)} requests/s, Poisson arrivals`] : []),
    ...formatFailures(failures),
    ...bench.bars.flatMap((bar) => listJudged(bar, runs)).map((bar) => checkBar(bar, runs)),
    ...formatFallbacks(runs),
    ...formatClientBound(runs, names),
    formatDisturbance(runs, bench.quiet),
  ];
}

const optionalColumns = {
  resumed: ['resumed', (own) => formatShare(computeMedian(own.map((one) => one.resumed)))],
  moves: ['moves/request', computeMovesPerRequest],
};

/** Computes how often a connection moved to another process, per request. */
function computeMovesPerRequest(runs) {
  const reported = runs.filter(({ served }) => served);
  const moves = reported.reduce((sum, one) => sum + one.moved, 0);
  const all = reported.reduce((sum, { served }) => sum + served.native + served.fallback, 0);
  return all > 0 ? (moves / all).toFixed(3) : '-';
}

const clientBound = (runs) => runs.filter((one) => one.clientBound.length > 0);

/**
 * The requirements that are judged for a bar. If the client was the limit in most runs of the row, a second one compares a
 * figure that does not depend on the client: the requests that the server handles per second of CPU.
 */
function listJudged(bar, runs) {
  const own = runs.filter(({ row }) => row === (bar.row ?? 'millrace'));
  const bound = !bar.metric && clientBound(own).length > own.length / 2;
  return bound ? [bar, { ...bar, metric: 'requestsPerCpuSecond' }] : [bar];
}

/** Describes the result of a case for the tables. */
export function describe(bench, { runs }) {
  const judged = bench.bars.flatMap((bar) => listJudged(bar, runs));
  const metric = bench.bars[0]?.metric ?? 'requestsPerSecond';
  return describeBars({ ...bench, bars: judged }, runs, metric);
}

/** Formats a line for each row in which the client was the limit. */
function formatClientBound(runs, names) {
  return names.flatMap((row) => {
    const own = runs.filter((one) => one.row === row);
    const bound = clientBound(own);
    if (bound.length === 0) return [];
    const why = bound.at(-1).clientBound.join('; ');
    return [`- **client-bound** in ${bound.length} of ${own.length} runs of ${row}: ${why}`];
  });
}
