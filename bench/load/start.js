// Cases of starting: from the start of the process to the arrival of its first request.

import { formatTable } from '../documents/table.js';
import { formatDisturbance } from '../harness/quiet.js';
import { formatFailures, runRounds, withServer } from '../harness/rounds.js';
import { computeMedianInterval } from '../harness/statistics.js';

/** Runs a case; `{ runs, failures }`. */
export function run(bench, context) {
  return runRounds(bench, context, async (tool, load) => {
    const { used, stopped } = await withServer(bench, context, (run) =>
      run(tool, load, { observe: false }),
    );
    return { ms: (stopped.firstRequestNs - used.startedNs) / 1e6, others: used.others };
  });
}

/** Formats the result of a case. */
export function summarize({ bars = [] }, { runs, failures }) {
  if (runs.length === 0) return formatFailures(failures);
  const names = [...new Set(runs.map(({ row }) => row))];
  const ms = (row) =>
    computeMedianInterval(runs.filter((one) => one.row === row).map((one) => one.ms));
  const rows = names.map((row) => {
    const { median, low, high } = ms(row);
    return [row, `${median.toFixed(1)} [${low.toFixed(1)}..${high.toFixed(1)}]`];
  });
  const judged = bars.map(({ row = 'millrace', atMost }) => {
    const bar = `- bar: ${row} at most ${atMost} ms`;
    if (!names.includes(row)) return `${bar}: not measured`;
    return `${bar}: **${ms(row).median <= atMost ? 'met' : 'missed'}**`;
  });
  const head = ['client', 'ms from start to first request'];
  return [
    ...formatTable(head, rows),
    '',
    ...formatFailures(failures),
    ...judged,
    formatDisturbance(runs),
  ];
}
