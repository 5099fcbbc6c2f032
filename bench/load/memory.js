// Cases of memory: the client's peak at a small and at a large value of one setting.

import { formatCount, formatTable } from '../documents/table.js';
import { formatFailures, runRounds, withServer } from '../harness/rounds.js';
import { computeMedian, computeMedianInterval } from '../harness/statistics.js';

/** Runs a case; `{ runs, failures }`. */
export async function run(bench, context) {
  const { key, from, to } = bench.vary;
  const { used } = await withServer(bench, context, (run) => {
    const peakKb = async (tool, load, value) => {
      const { maxRssKb, server } = await run(tool, { ...load, [key]: value }, { observe: false });
      if (server[key] < value) throw new Error(`only ${server[key]} of ${value} ${key}`);
      return maxRssKb;
    };
    const both = async (tool, load) => {
      const smallKb = await peakKb(tool, load, from);
      const largeKb = await peakKb(tool, load, to);
      return { smallKb, largeKb, bytesEach: ((largeKb - smallKb) * 1024) / (to - from) };
    };
    return runRounds(bench, context, both, { back: false });
  });
  return used;
}

/** Formats the result of a case. */
export function summarize({ vary, bars = [] }, { runs, failures }) {
  const names = [...new Set(runs.map(({ row }) => row))];
  const all = (row, key) => runs.filter((one) => one.row === row).map((one) => one[key]);
  const mib = (row, key) => (computeMedian(all(row, key)) / 1024).toFixed(1);
  const rows = names.map((row) => {
    const each = computeMedianInterval(all(row, 'bytesEach'));
    const range = `[${each.low.toFixed(1)}..${each.high.toFixed(1)}]`;
    return [row, mib(row, 'smallKb'), mib(row, 'largeKb'), `${each.median.toFixed(1)} ${range}`];
  });
  const head = [
    'client',
    `MiB at ${formatCount(vary.from)} ${vary.key}`,
    `MiB at ${formatCount(vary.to)}`,
  ];
  head.push('bytes for each more');
  const judged = bars.map(({ row = 'millrace', atMost }) => {
    const bar = `- bar: ${row} at most ${atMost} bytes for each`;
    if (!names.includes(row)) return `${bar}: not measured`;
    return `${bar}: **${computeMedian(all(row, 'bytesEach')) <= atMost ? 'met' : 'missed'}**`;
  });
  return [...formatTable(head, rows), '', ...formatFailures(failures), ...judged];
}
