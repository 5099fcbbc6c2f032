import type { CapacityLevel, CapacityResult, CapacityTrial } from '../../capacity/result.js';
import { type Column, formatCsv } from '../csv/table.js';

/** A block of a search, or a level of a sweep over its blocks. */
interface Row {
  result: CapacityResult;
  level: CapacityLevel | null;
  trial: CapacityTrial | null;
}

const COLUMNS: readonly Column<Row>[] = [
  ['started_at', ({ result }) => result.startedAt],
  ['connections', ({ level, result }) => level?.connections ?? result.plan.connections],
  ['rate', ({ trial }) => trial?.rate ?? null],
  ['throughput', ({ level, trial }) => level?.throughput.mean ?? trial?.throughput ?? null],
  ['throughput_low', ({ level }) => level?.throughput.low ?? null],
  ['throughput_high', ({ level }) => level?.throughput.high ?? null],
  ['latency_mean_ms', (row) => readLatency(row)?.mean ?? null],
  ['latency_p50_ms', (row) => readLatency(row)?.p50 ?? null],
  ['latency_p99_ms', (row) => readLatency(row)?.p99 ?? null],
  ['latency_at_least', (row) => Object.keys(readLatency(row)?.atLeast ?? {}).join(' ')],
  ['error_share', ({ level }) => level?.errorShare ?? null],
  ['server_cpu', ({ level }) => level?.serverCpu ?? null],
  ['held', ({ trial }) => trial?.held ?? null],
  ['client_bound', ({ level, trial }) => (level ?? trial)?.clientBound ?? null],
];

/** Renders results of capacity runs as CSV: a row for each number of connections, or for each block at a rate. */
export function renderCapacityCsv(results: readonly CapacityResult[]): string {
  return formatCsv(COLUMNS, results.flatMap(listRows));
}

function listRows(result: CapacityResult): Row[] {
  const levels = result.sweep?.levels ?? [];
  const trials = result.search?.trials ?? [];
  return [
    ...levels.map((level) => ({ result, level, trial: null })),
    ...trials.map((trial) => ({ result, level: null, trial })),
  ];
}

function readLatency({ level, trial }: Row): CapacityTrial['latencyMs'] | undefined {
  return (level ?? trial)?.latencyMs;
}
