import type { LoadResult, LoadWindow, ServerSample } from '../../load/result.js';
import { type Column, formatCsv } from '../csv/table.js';

/** A row: one window of a run. */
interface WindowRow {
  run: LoadResult;
  window: LoadWindow;
  /** The last window may be shorter than the others. */
  lengthMs: number;
  /** The server's samples that end in the window. */
  samples: ServerSample[];
}

const COLUMNS: readonly Column<WindowRow>[] = [
  ['started_at', ({ run }) => run.startedAt],
  ['t_ms', ({ window }) => window.tMs],
  ['length_ms', ({ lengthMs }) => lengthMs],
  ['completed', ({ window }) => window.completed],
  ['errors', ({ window }) => window.errors],
  ['throughput', ({ window, lengthMs }) => perSecond(window.completed, lengthMs)],
  ['p50_ms', ({ window }) => window.p50Ms],
  ['p99_ms', ({ window }) => window.p99Ms],
  ['server_cpu', ({ samples }) => findMean(samples.map(({ cpu }) => cpu))],
  ['server_rss_mb', ({ samples }) => findHighest(samples.map(({ rssMb }) => rssMb))],
];

/** Renders results of loads over time as CSV: a row for each window. */
export function renderSeriesCsv(results: readonly LoadResult[]): string {
  return formatCsv(COLUMNS, results.flatMap(listRows));
}

function listRows(run: LoadResult): WindowRow[] {
  const { series, durationMs, server } = run;
  const all = server?.series ?? [];
  let next = 0;
  return series.map((window, index) => {
    const endMs = series[index + 1]?.tMs ?? Math.max(durationMs, window.tMs);
    const first = next;
    const isLast = index === series.length - 1;
    while (next < all.length && (isLast || (all[next]?.tMs ?? 0) <= endMs)) next += 1;
    return { run, window, lengthMs: endMs - window.tMs, samples: all.slice(first, next) };
  });
}

function perSecond(number: number, ms: number): number | null {
  return ms > 0 ? (number * 1000) / ms : null;
}

function findMean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function findHighest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.max(...values);
}
