// Runs cases of serving: the servers in turn under the same load from millrace.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatDisturbance } from '../quiet.js';
import { checkBar, formatRatio } from '../ratios.js';
import { formatFailures, runRounds, withServer } from '../rounds.js';
import { computeMedian } from '../statistics.js';
import { formatCount, formatShare, formatTable } from '../table.js';

/** Load before each measurement, in which hot code is compiled. */
const WARMUP_SECONDS = 1;
/** Maximum share of failed requests in a valid run. */
const MAX_FAILED = 0.001;

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
  const body = load.bodyBytes ? bodyFile(load.bodyBytes, context.directory) : load.body;
  const { used, stopped } = await withServer({ server }, context, (run) =>
    run('millrace', { ...load, body, warmup: WARMUP_SECONDS }, { observe: false }),
  );
  const { command, others, said } = used;
  if (said.requests === 0 || said.errors > MAX_FAILED * said.requests) {
    const why = [`${said.errors} of ${said.requests} requests failed`, ...said.errorKinds];
    throw new Error(why.join(', '));
  }
  const requestsPerCpuSecond = said.requestsPerSecond / said.serverBusy;
  const cpuUsPerRequest = 1e6 / requestsPerCpuSecond;
  // A client that waited for its core was disturbed by other processes, even if they used little CPU in total.
  const disturbed = Math.max(others, said.starved ?? 0);
  const { served = null, moved } = stopped;
  const cpu = { requestsPerCpuSecond, cpuUsPerRequest };
  return { command, ...said, others: disturbed, ...cpu, served, moved };
}

/** Writes a body of this size to a file, and returns the client's argument for it. */
function bodyFile(bytes, directory) {
  const path = join(directory, 'body');
  writeFileSync(path, Buffer.alloc(bytes, 'x'));
  return `@${path}`;
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
    ...compared('p95 ms', 'p95Ms', (ms) => ms.toPrecision(3)),
    ['p99 ms', (own) => computeMedian(own.map((one) => one.p99Ms)).toPrecision(3)],
    ...compared('CPU µs/request', 'cpuUsPerRequest', (us) => us.toPrecision(3)),
    ['server busy', (own) => formatShare(computeMedian(own.map((one) => one.serverBusy)))],
    ['client busy', (own) => formatShare(computeMedian(own.map((one) => one.generatorBusy)))],
    ...(bench.columns ?? []).map((name) => optionalColumns[name]),
    ['native', computeNativeShare],
    ['errors', (own) => formatCount(own.reduce((sum, one) => sum + one.errors, 0))],
  ];
  const rows = names.map((row) => {
    const own = runs.filter((one) => one.row === row);
    return [row, ...columns.map(([, cell]) => cell(own, row))];
  });
  return [
    ...formatTable(['server', ...columns.map(([title]) => title)], rows),
    '',
    ...(rate ? [`- sent: ${formatCount(rate)} requests/s, Poisson arrivals`] : []),
    ...formatFailures(failures),
    ...bench.bars.flatMap((bar) => formatBar(bar, runs)),
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

/** Computes the share of the requests that Millrace served natively, by its own counters. */
function computeNativeShare(runs) {
  const reported = runs.map(({ served }) => served).filter(Boolean);
  const native = reported.reduce((sum, one) => sum + one.native, 0);
  const all = reported.reduce((sum, one) => sum + one.native + one.fallback, 0);
  return all > 0 ? formatShare(native / all) : '-';
}

/** Formats the reasons why Node's own code served some requests. */
function formatFallbacks(runs) {
  const sums = {};
  for (const { served } of runs) {
    for (const [why, times] of Object.entries(served?.fallbackReasons ?? {})) {
      sums[why] = (sums[why] ?? 0) + times;
    }
  }
  return Object.entries(sums).map(
    ([why, times]) => `- handed over to Node: ${why}, ${formatCount(times)}`,
  );
}

const clientBound = (runs) => runs.filter((one) => one.clientBound.length > 0);

/**
 * Formats the line of a bar. If the client was the limit in most runs of the row, a second line compares a figure that does
 * not depend on the client: the requests that the server handles per second of CPU.
 */
function formatBar(bar, runs) {
  const own = runs.filter(({ row }) => row === (bar.row ?? 'millrace'));
  const bound = !bar.metric && clientBound(own).length > own.length / 2;
  const judged = bound ? [bar, { ...bar, metric: 'requestsPerCpuSecond' }] : [bar];
  return judged.map((one) => checkBar(one, runs));
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
