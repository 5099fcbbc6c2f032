// Runs cases of applications: memory after a number of requests, then CPU time per request and requests/s.
import { createBody } from '../clients/bodies.js';
import { formatCount, formatInterval, formatRuns } from '../documents/table.js';
import { formatDisturbance } from '../harness/quiet.js';
import { checkBar, computeSavedUs, describeBars, formatRatio } from '../harness/ratios.js';
import { formatFailures, runRounds, withServer } from '../harness/rounds.js';
import { computeMedian } from '../harness/statistics.js';
import { readTreeKb } from '../stack/resident.js';
import { formatFallbacks, formatNativeShare, refuseFailed } from '../stack/served.js';

/** Requests before memory is read; they also warm up what is measured then. */
const REQUESTS = 20_000;
/** Where it is a look and not a result. */
const QUICK_REQUESTS = 2_000;
/** The time that these requests may take. */
const LIMIT_SECONDS = 180;

/** Runs a case with a new server for each run; resolves with `{ runs, failures }`. */
export function run(bench, context) {
  return runRounds(bench, context, (name, load) => measure(name, load, context));
}

async function measure(name, load, context) {
  const server = context.found.get(name).server(load);
  const client = load.client ?? 'millrace';
  const asked = { ...load, ...createBody(load, context.directory) };
  const requests = context.quick ? QUICK_REQUESTS : REQUESTS;
  const { used, stopped } = await withServer({ server }, context, async (run, { pid }) => {
    const first = { ...asked, requests, seconds: LIMIT_SECONDS };
    refuseFailed((await run(client, first, { observe: false })).said);
    const residentKb = readTreeKb(pid);
    return { residentKb, ...(await run(client, asked, { observe: false })) };
  });
  const { said, serverCpuSeconds, others, command, residentKb } = used;
  refuseFailed(said);
  return {
    command,
    ...said,
    residentKb,
    // A client that waited for its core was disturbed by other processes, even if they used little CPU in total.
    others: Math.max(others, said.starved ?? 0),
    cpuUsPerRequest: (serverCpuSeconds * 1e6) / said.requests,
    requestsPerCpuSecond: said.requests / serverCpuSeconds,
    served: stopped.served,
  };
}

const formatSaved = (runs, row, base) => formatInterval(computeSavedUs(runs, row, base), 1);

/** Formats the result of a case as lines. */
export function summarize(bench, { runs, failures }) {
  if (runs.length === 0) return formatFailures(failures);
  const names = [...new Set(runs.map(({ row }) => row))];
  const baseOf = (row) => (row.includes(', flat') ? 'node, flat' : 'node');
  const compared = (metric) => (_, row) => formatRatio(runs, row, baseOf(row), metric);
  const median = (metric, show) => (own) => show(computeMedian(own.map((one) => one[metric])));
  const columns = [
    ['requests/s', median('requestsPerSecond', formatCount)],
    ['÷ node', compared('requestsPerSecond')],
    ['CPU µs/request', median('cpuUsPerRequest', (us) => us.toFixed(1))],
    ['node ÷ it', compared('requestsPerCpuSecond')],
    ['µs less', (_, row) => (row === baseOf(row) ? '-' : formatSaved(runs, row, baseOf(row)))],
    ['MiB', median('residentKb', (kb) => formatCount(kb / 1024))],
    ['÷ node', compared('residentKb')],
    ['native', (own) => formatNativeShare(own)],
    ['errors', (own) => formatCount(own.reduce((sum, one) => sum + one.errors, 0))],
  ];
  return [
    ...formatRuns('server', columns, names, runs),
    '',
    ...formatFailures(failures),
    ...bench.bars.map((bar) => checkBar(bar, runs)),
    ...formatFallbacks(runs),
    formatDisturbance(runs),
  ];
}

/** Describes the result of a case for the tables. */
export function describe(bench, { runs }) {
  const us = (row) =>
    computeMedian(runs.filter((one) => one.row === row).map((one) => one.cpuUsPerRequest));
  if (!['node', 'millrace'].every((row) => runs.some((one) => one.row === row))) return null;
  return {
    ...describeBars(bench, runs, 'requestsPerCpuSecond'),
    cpuUs: `${us('node').toFixed(1)} → ${us('millrace').toFixed(1)}`,
    savedUs: computeSavedUs(runs, 'millrace', 'node').median,
    throughput: formatRatio(runs, 'millrace', 'node', 'requestsPerSecond'),
    memory: formatRatio(runs, 'millrace', 'node', 'residentKb'),
  };
}
