import type { Distribution, LoadResult, NamedResult } from '../../load/result.js';
import { type Column, formatCsv } from '../csv/table.js';
import { STATISTICS } from '../distributions/distribution.js';

/** A row: all requests of a run, whose name is empty, or those with one name. */
interface LoadRow
  extends Pick<
    NamedResult,
    'name' | 'requests' | 'throughput' | 'timeShare' | 'latencyMs' | 'serviceTimeMs' | 'bytes'
  > {
  run: LoadResult;
}

const COLUMNS: readonly Column<LoadRow>[] = [
  ['started_at', ({ run }) => run.startedAt],
  ['duration_ms', ({ run }) => run.durationMs],
  ['name', ({ name }) => name],
  ['time_share', ({ timeShare }) => timeShare],
  ['sent', ({ requests }) => requests.sent],
  ['ok', ({ requests }) => requests.ok],
  ['status_errors', ({ requests }) => requests.statusErrors],
  ['transport_errors', ({ requests }) => requests.transportErrors],
  ['timeouts', ({ requests }) => requests.timeouts],
  ['in_flight_at_end', ({ requests }) => requests.inFlightAtEnd],
  // Results that were stored by earlier versions have none by name.
  ['not_sent_overflow', ({ requests }) => requests.notSent?.overflow ?? null],
  ['not_sent_queued_at_end', ({ requests }) => requests.notSent?.queuedAtEnd ?? null],
  ['not_sent_connect_failed', ({ requests }) => requests.notSent?.connectFailed ?? null],
  ['throughput', ({ throughput }) => throughput],
  ['bytes_sent', ({ bytes }) => bytes.sent],
  ['bytes_received', ({ bytes }) => bytes.received],
  ...listColumns('latency', ({ latencyMs }) => latencyMs),
  ...listColumns('service', ({ serviceTimeMs }) => serviceTimeMs),
];

/** Renders results of loads as CSV: for each a row with all requests and one for each request name. */
export function renderLoadCsv(results: readonly LoadResult[]): string {
  return formatCsv(COLUMNS, results.flatMap(listRows));
}

function listRows(run: LoadResult): LoadRow[] {
  const { requests, throughput, latencyMs, serviceTimeMs, bytes } = run;
  const all = { name: '', requests, throughput: throughput.mean, latencyMs, serviceTimeMs, bytes };
  const named = (run.byName ?? []).map((one) => ({ ...one, run }));
  return [{ ...all, timeShare: 1, run }, ...named];
}

function listColumns(clock: string, read: (row: LoadRow) => Distribution): Column<LoadRow>[] {
  return [
    [`${clock}_count`, (row) => read(row).count],
    [`${clock}_censored`, (row) => read(row).censored],
    [`${clock}_min_ms`, (row) => read(row).min],
    ...STATISTICS.map(
      ({ key }): Column<LoadRow> => [`${clock}_${key}_ms`, (row) => read(row)[key]],
    ),
    // A lower bound must not be read as a value.
    [`${clock}_at_least`, (row) => Object.keys(read(row).atLeast).join(' ')],
  ];
}
