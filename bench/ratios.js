// Ratios between the rows of a case, and the requirements for them.
import { computeMedianInterval } from './statistics.js';
import { formatInterval } from './table.js';

const metrics = {
  requestsPerSecond: 'requests/s',
  requestsPerCpuSecond: 'requests per second of CPU',
  cpuUsPerRequest: 'CPU per request',
  p95Ms: 'p95 of the latency',
  p99Ms: 'p99 of the latency',
  bytesEach: 'memory per connection',
};

/** Computes the ratio of a metric to that of another row: the median over rounds of the ratio of means. */
function computeRatio(runs, row, base, metric) {
  const mean = (round, name) => {
    const values = runs.filter((one) => one.round === round && one.row === name);
    return values.reduce((sum, one) => sum + one[metric], 0) / values.length;
  };
  const rounds = [...new Set(runs.map(({ round }) => round))];
  return computeMedianInterval(rounds.map((round) => mean(round, row) / mean(round, base)));
}

/** Formats the cell that compares a row with the row `base`. */
export function formatRatio(runs, row, base, metric) {
  return row === base ? '1' : formatInterval(computeRatio(runs, row, base, metric));
}

/** Checks whether a requirement is met, and formats the result. */
export function checkBar(
  { row = 'millrace', than, metric = 'requestsPerSecond', atLeast, atMost },
  runs,
) {
  const demand = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
  const bar = `- bar: ${metrics[metric]} of ${row} ${demand} × ${than}`;
  const measuredRows = new Set(runs.map((one) => one.row));
  if (!measuredRows.has(row) || !measuredRows.has(than)) return `${bar}: not measured`;
  const measured = computeRatio(runs, row, than, metric);
  return `${bar}: ${formatInterval(measured, 3)}, **${formatVerdict(measured, atLeast, atMost)}**`;
}

function formatVerdict({ low, high }, atLeast = -Infinity, atMost = Infinity) {
  if (low >= atLeast && high <= atMost) return 'met';
  if (high < atLeast || low > atMost) return 'missed';
  return 'open: the bar lies within the interval';
}
