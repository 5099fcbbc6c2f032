import type { Distribution, IterationResult, LoadResult, NamedResult } from '../../load/result.js';
import { type Column, formatCsv } from '../csv/table.js';
import { STATISTICS } from '../distributions/distribution.js';

/** What a row has of requests; a row of a scenario has none. */
type RequestFigures = Pick<
  NamedResult,
  'requests' | 'throughput' | 'timeShare' | 'latencyMs' | 'serviceTimeMs' | 'bytes'
>;

/** A row: all requests of a run, whose name is empty, those with one name, or the iterations of a scenario. */
interface LoadRow extends Partial<RequestFigures> {
  run: LoadResult;
  name: string;
  scenario?: string;
  iterations?: IterationResult | null;
  checks?: LoadResult['checks'];
}

const COLUMNS: readonly Column<LoadRow>[] = [
  ['started_at', ({ run }) => run.startedAt],
  ['duration_ms', ({ run }) => run.durationMs],
  ['name', ({ name }) => name],
  ['time_share', ({ timeShare }) => timeShare ?? null],
  ['sent', ({ requests }) => requests?.sent ?? null],
  ['ok', ({ requests }) => requests?.ok ?? null],
  ['status_errors', ({ requests }) => requests?.statusErrors ?? null],
  ['transport_errors', ({ requests }) => requests?.transportErrors ?? null],
  ['timeouts', ({ requests }) => requests?.timeouts ?? null],
  ['in_flight_at_end', ({ requests }) => requests?.inFlightAtEnd ?? null],
  // Results that were stored by earlier versions have none by name.
  ['not_sent_overflow', ({ requests }) => requests?.notSent?.overflow ?? null],
  ['not_sent_queued_at_end', ({ requests }) => requests?.notSent?.queuedAtEnd ?? null],
  ['not_sent_connect_failed', ({ requests }) => requests?.notSent?.connectFailed ?? null],
  ['throughput', ({ throughput }) => throughput ?? null],
  ['bytes_sent', ({ bytes }) => bytes?.sent ?? null],
  ['bytes_received', ({ bytes }) => bytes?.received ?? null],
  ...listColumns('latency', ({ latencyMs }) => latencyMs),
  ...listColumns('service', ({ serviceTimeMs }) => serviceTimeMs),
];

/** Columns of loads with scenarios; empty in rows of request names. */
const SCENARIO_COLUMNS: readonly Column<LoadRow>[] = [
  ['scenario', ({ scenario }) => scenario ?? null],
  ['iterations_started', ({ iterations }) => iterations?.started ?? null],
  ['iterations_completed', ({ iterations }) => iterations?.completed ?? null],
  ['iterations_failed', ({ iterations }) => iterations?.failed ?? null],
  ['iterations_in_progress', ({ iterations }) => iterations?.inProgress ?? null],
  ['iterations_not_started', ({ iterations }) => iterations?.notStarted ?? null],
  ['iterations_per_second', ({ iterations }) => iterations?.rate ?? null],
  ...listColumns('iteration', ({ iterations }) => iterations?.durationMs),
  ...listColumns('active', ({ iterations }) => iterations?.activeMs),
  ['checks_passed', ({ checks }) => checks?.passed ?? null],
  ['checks_failed', ({ checks }) => checks?.failed ?? null],
];

/**
 * Renders results of loads as CSV: for each a row with all requests and one for each request name. Where one has scenarios,
 * there are columns for these, and a row for each scenario.
 */
export function renderLoadCsv(results: readonly LoadResult[]): string {
  const hasScenarios = results.some(({ iterations = null }) => iterations !== null);
  const columns = hasScenarios ? [...COLUMNS, ...SCENARIO_COLUMNS] : COLUMNS;
  return formatCsv(columns, results.flatMap(listRows));
}

function listRows(run: LoadResult): LoadRow[] {
  const { requests, throughput, latencyMs, serviceTimeMs, bytes } = run;
  const { iterations = null, checks = null, scenarios = [] } = run;
  const all = { name: '', requests, throughput: throughput.mean, latencyMs, serviceTimeMs, bytes };
  const ofScenarios = scenarios.map((one) => ({
    ...{ run, name: '', scenario: one.name, iterations: one },
    checks: sumChecks(run, one.name),
  }));
  const named = (run.byName ?? []).map((one) => ({ ...one, run }));
  return [{ ...all, timeShare: 1, run, iterations, checks }, ...ofScenarios, ...named];
}

/** Adds up the checks of a scenario; `null` without one. */
function sumChecks({ steps }: LoadResult, scenario: string): LoadResult['checks'] {
  const checks = steps.filter((step) => step.scenario === scenario).flatMap((step) => step.checks);
  if (checks.length === 0) return null;
  const sum = (key: 'passed' | 'failed') => checks.reduce((total, one) => total + one[key], 0);
  return { passed: sum('passed'), failed: sum('failed') };
}

function listColumns(
  clock: string,
  read: (row: LoadRow) => Distribution | undefined,
): Column<LoadRow>[] {
  return [
    [`${clock}_count`, (row) => read(row)?.count ?? null],
    [`${clock}_censored`, (row) => read(row)?.censored ?? null],
    [`${clock}_min_ms`, (row) => read(row)?.min ?? null],
    ...STATISTICS.map(
      ({ key }): Column<LoadRow> => [`${clock}_${key}_ms`, (row) => read(row)?.[key] ?? null],
    ),
    // A lower bound must not be read as a value.
    [`${clock}_at_least`, (row) => Object.keys(read(row)?.atLeast ?? {}).join(' ')],
  ];
}
