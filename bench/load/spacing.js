// Cases of an open load: whether requests arrive according to the schedule.

import { formatCount, formatTable } from '../documents/table.js';
import { formatDisturbance } from '../harness/quiet.js';
import { formatFailures, runRounds, withServer } from '../harness/rounds.js';
import { computeMedian, computeQuantile } from '../harness/statistics.js';

/** Runs a case; `{ runs, failures }`. The server has a core of its own and spins. */
export function run(bench, context) {
  return runRounds(bench, context, async (tool, load) => {
    const { used, stopped } = await withServer(bench, context, (run) =>
      run(tool, load, { observe: false }),
    );
    const { samples: _, ...outcome } = used;
    return { ...outcome, ...measureSpacing(stopped.stamps, load.rate) };
  });
}

/**
 * Compares arrivals (nanoseconds, in order) with one every 1/rate seconds: `gapUs`, the deviation of the
 * time between two arrivals, and `behindUs`, the lateness of each arrival relative to the schedule that
 * the earliest one defines. Microseconds: p50, p99 and max.
 */
export function measureSpacing(stamps, rate) {
  const period = 1e9 / rate;
  const gaps = stamps.slice(1).map((ns, i) => Math.abs(ns - stamps[i] - period) / 1000);
  const offsets = stamps.map((ns, i) => (ns - stamps[0] - i * period) / 1000);
  const earliest = offsets.reduce((earliest, offset) => Math.min(earliest, offset), Infinity);
  return {
    arrivals: stamps.length,
    rate: (stamps.length - 1) / ((stamps.at(-1) - stamps[0]) / 1e9),
    gapUs: computeQuantiles(gaps),
    behindUs: computeQuantiles(offsets.map((offset) => offset - earliest)),
  };
}

function computeQuantiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    p50: computeQuantile(sorted, 0.5),
    p99: computeQuantile(sorted, 0.99),
    max: sorted.at(-1),
  };
}

/** Formats the result of a case. */
export function summarize({ bars = [] }, { runs, failures }) {
  if (runs.length === 0) return formatFailures(failures);
  const names = [...new Set(runs.map(({ row }) => row))];
  const of = (row, pick) => computeMedian(runs.filter((one) => one.row === row).map(pick));
  const rows = names.map((row) => {
    const us = (pick) => of(row, pick).toFixed(1);
    const says = runs.some((one) => one.row === row && one.said.latenessUs !== undefined);
    return [
      row,
      formatCount(of(row, (one) => one.rate)),
      ...[us((one) => one.gapUs.p50), us((one) => one.gapUs.p99), us((one) => one.gapUs.max)],
      us((one) => one.behindUs.p99),
      says ? us((one) => one.said.latenessUs) : '-',
    ];
  });
  const head = ['client', 'arrivals/s', 'gap off by µs: p50', 'p99', 'max'];
  head.push('behind schedule µs: p99', 'lateness µs: p99, as the client says');
  const judged = bars.map(({ row = 'millrace', atMost }) => {
    const bar = `- bar: p99 of lateness of ${row} at most ${atMost} µs`;
    if (!names.includes(row)) return `${bar}: not measured`;
    const [says, seen] = [(one) => one.said.latenessUs, (one) => one.behindUs.p99];
    const met = of(row, says) <= atMost && of(row, seen) <= atMost;
    return `${bar}, as it says and as the server sees: **${met ? 'met' : 'missed'}**`;
  });
  return [
    ...formatTable(head, rows),
    '',
    ...formatFailures(failures),
    ...judged,
    formatDisturbance(runs),
  ];
}
