import type { ComparisonMetric, ComparisonResult, ComparisonRow } from '../../compare/result.js';
import { type Column, formatCsv } from '../csv/table.js';

/** Names and units of the metrics, as in column names. */
const METRIC_NAMES: Record<ComparisonMetric, string> = {
  throughput: 'throughput',
  p50Ms: 'p50_ms',
  p99Ms: 'p99_ms',
  cpuPerRequestUs: 'cpu_per_request_us',
  memoryMb: 'memory_mb',
};

/** A row of a comparison. */
interface Row {
  comparison: ComparisonResult;
  row: ComparisonRow;
}

const COLUMNS: readonly Column<Row>[] = [
  ['started_at', ({ comparison }) => comparison.startedAt],
  ['name', ({ row }) => row.name],
  ['metric', ({ row }) => METRIC_NAMES[row.metric]],
  ['a', ({ row }) => row.a],
  ['b', ({ row }) => row.b],
  ['ratio', ({ row }) => row.ratio?.estimate ?? null],
  ['low', ({ row }) => row.ratio?.low ?? null],
  ['high', ({ row }) => row.ratio?.high ?? null],
  ['confidence', ({ row }) => row.confidence],
  ['verdict', ({ row }) => row.verdict],
  ['imprecise', ({ row }) => row.imprecise ?? false],
  ['doubt', ({ row }) => row.doubt ?? null],
];

/** Renders comparisons as CSV: a row for each metric of all requests, whose name is empty, and of each request name. */
export function renderComparisonCsv(comparisons: readonly ComparisonResult[]): string {
  const rows = comparisons.flatMap((comparison) =>
    comparison.rows.map((row) => ({ comparison, row })),
  );
  return formatCsv(COLUMNS, rows);
}
