// Ratios between the rows of a case, and the requirements for them.

import { formatInterval } from '../documents/table.js';
import { computeMedianInterval } from './statistics.js';

const metrics = {
  requestsPerSecond: 'requests/s',
  requestsPerCpuSecond: 'requests per second of CPU',
  cpuUsPerRequest: 'CPU per request',
  p95Ms: 'p95 of the latency',
  p99Ms: 'p99 of the latency',
  bytesEach: 'memory per connection',
  residentKb: 'memory',
};

/** Names of metrics in a table, but for requests/s. */
const SHORT = {
  requestsPerCpuSecond: 'requests/CPU s',
  cpuUsPerRequest: 'CPU',
  p95Ms: 'p95',
  p99Ms: 'p99',
  bytesEach: 'memory',
  residentKb: 'memory',
};

/** Calls `compute(mean)` for each round, where `mean(row, metric)` is a mean of the round; the median of what it returns. */
function overRounds(runs, compute) {
  const rounds = [...new Set(runs.map(({ round }) => round))];
  const values = rounds.map((round) =>
    compute((row, metric) => {
      const own = runs.filter((one) => one.round === round && one.row === row);
      return own.reduce((sum, one) => sum + one[metric], 0) / own.length;
    }),
  );
  return computeMedianInterval(values);
}

/** Computes the ratio of a metric to that of another row: the median over rounds of the ratio of means. */
export function computeRatio(runs, row, base, metric) {
  return overRounds(runs, (mean) => mean(row, metric) / mean(base, metric));
}

/** Computes how many microseconds of CPU per request a row needs less than `base`: the median over rounds. */
export function computeSavedUs(runs, row, base) {
  return overRounds(runs, (mean) => mean(base, 'cpuUsPerRequest') - mean(row, 'cpuUsPerRequest'));
}

/** Computes the ratio of what the second row of a pair saves to what that of another pair does. */
function computeSavedRatio(runs, [from, to], [baseFrom, baseTo]) {
  const metric = 'cpuUsPerRequest';
  return overRounds(
    runs,
    (mean) =>
      (mean(from, metric) - mean(to, metric)) / (mean(baseFrom, metric) - mean(baseTo, metric)),
  );
}

/** Formats the cell that compares a row with the row `base`. */
export function formatRatio(runs, row, base, metric) {
  return row === base ? '1' : formatInterval(computeRatio(runs, row, base, metric));
}

/**
 * Judges a requirement: `{ demand, measured, verdict }`, where `measured` is null if a row is missing. A requirement
 * compares a metric of a row with that of another, or with `saved` the CPU time per request that the second row of a pair
 * needs less than the first with that of another pair.
 */
export function judgeBar(
  { row = 'millrace', saved, than, metric = 'requestsPerSecond', atLeast, atMost },
  runs,
) {
  const limit = formatLimit({ atLeast, atMost });
  const demand = saved
    ? `CPU per request that ${saved[1]} saves ${limit} × what ${than[1]} saves`
    : `${metrics[metric]} of ${row} ${limit} × ${than}`;
  const rows = new Set(runs.map((one) => one.row));
  const needed = saved ? [...saved, ...than] : [row, than];
  if (!needed.every((one) => rows.has(one)))
    return { demand, measured: null, verdict: 'not measured' };
  const measured = saved
    ? computeSavedRatio(runs, saved, than)
    : computeRatio(runs, row, than, metric);
  return { demand, measured, verdict: judge(measured, atLeast, atMost) };
}

function formatLimit({ atLeast, atMost }) {
  return atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
}

/** Checks whether a requirement is met, and formats the result. */
export function checkBar(bar, runs) {
  const { demand, measured, verdict } = judgeBar(bar, runs);
  const start = `- bar: ${demand}`;
  if (!measured) return `${start}: ${verdict}`;
  const why = verdict === 'open' ? ': the bar lies within the interval' : '';
  return `${start}: ${formatInterval(measured, 3)}, **${verdict}${why}**`;
}

/**
 * Describes a case for the tables: `{ main, peers, bars }`, texts: the ratio of the judged row to the baseline in a
 * metric, that of each other row, and the requirements in a few words with their verdicts.
 */
export function describeBars({ bars, baseline }, runs, metric) {
  const names = new Set(runs.map(({ row }) => row));
  const main = bars[0]?.row ?? 'millrace';
  const base = names.has(baseline) ? baseline : runs[0].row;
  const others = [...names].filter((row) => row !== main && row !== base);
  const isOfMain = ({ row = 'millrace', saved, than, metric: own = 'requestsPerSecond' }) =>
    !saved && row === main && than === base && own === metric;
  return {
    main: names.has(main) ? formatRatio(runs, main, base, metric) : '-',
    peers: Object.fromEntries(others.map((row) => [row, formatRatio(runs, row, base, metric)])),
    bars: bars.map((bar) => {
      const demand = isOfMain(bar) ? formatLimit(bar) : shortenDemand(bar, { main, base });
      return `${demand}: ${judgeBar(bar, runs).verdict}`;
    }),
  };
}

/** A requirement in a few words: names that differ from the judged row, requests/s and the baseline. */
function shortenDemand(bar, { main, base }) {
  const { row = 'millrace', saved, than, metric } = bar;
  if (saved) return `saves ${formatLimit(bar)} × ${than[1]}`;
  const words = [row === main ? '' : row, SHORT[metric] ?? '', formatLimit(bar)];
  return `${words.filter(Boolean).join(' ')}${than === base ? '' : ` × ${than}`}`;
}

function judge({ low, high }, atLeast = -Infinity, atMost = Infinity) {
  if (low >= atLeast && high <= atMost) return 'met';
  if (high < atLeast || low > atMost) return 'missed';
  return 'open';
}
