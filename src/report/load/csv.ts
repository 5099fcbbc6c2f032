import type { Distribution, IterationResult, LoadResult, NamedResult } from '../../load/result.js';
import { type Cell, type Column, formatCsv } from '../csv/table.js';
import { STATISTICS } from '../distributions/distribution.js';

/** What a row has of requests. */
type RequestFigures = Pick<
  NamedResult,
  'requests' | 'throughput' | 'timeShare' | 'latencyMs' | 'serviceTimeMs' | 'bytes'
>;

/** A row: all requests of a run, whose name is empty, those with one name, or the iterations of a scenario. */
interface LoadRow {
  run: LoadResult;
  name: string;
  scenario: string | null;
  /** `null` in the row of a scenario. */
  figures: RequestFigures | null;
  /** `null` in rows of request names, and without scenarios. */
  iterations: IterationResult | null;
  checks: LoadResult['checks'];
}

const COLUMNS: readonly Column<LoadRow>[] = [
  ['started_at', ({ run }) => run.startedAt],
  ['duration_ms', ({ run }) => run.durationMs],
  ['name', ({ name }) => name],
  ['time_share', ofRequests(({ timeShare }) => timeShare)],
  ['sent', ofRequests(({ requests }) => requests.sent)],
  ['ok', ofRequests(({ requests }) => requests.ok)],
  ['status_errors', ofRequests(({ requests }) => requests.statusErrors)],
  ['transport_errors', ofRequests(({ requests }) => requests.transportErrors)],
  ['timeouts', ofRequests(({ requests }) => requests.timeouts)],
  ['in_flight_at_end', ofRequests(({ requests }) => requests.inFlightAtEnd)],
  // Results that were stored by earlier versions have none by name.
  ['not_sent_overflow', ofRequests(({ requests }) => requests.notSent?.overflow ?? null)],
  ['not_sent_queued_at_end', ofRequests(({ requests }) => requests.notSent?.queuedAtEnd ?? null)],
  [
    'not_sent_connect_failed',
    ofRequests(({ requests }) => requests.notSent?.connectFailed ?? null),
  ],
  ['throughput', ofRequests(({ throughput }) => throughput)],
  ['bytes_sent', ofRequests(({ bytes }) => bytes.sent)],
  ['bytes_received', ofRequests(({ bytes }) => bytes.received)],
  ...listColumns('latency', ofRequests, ({ latencyMs }) => latencyMs),
  ...listColumns('service', ofRequests, ({ serviceTimeMs }) => serviceTimeMs),
];

/** Columns of loads with scenarios. */
const SCENARIO_COLUMNS: readonly Column<LoadRow>[] = [
  ['scenario', ({ scenario }) => scenario],
  ['iterations_started', ofIterations(({ started }) => started)],
  ['iterations_completed', ofIterations(({ completed }) => completed)],
  ['iterations_failed', ofIterations(({ failed }) => failed)],
  ['iterations_in_progress', ofIterations(({ inProgress }) => inProgress)],
  ['iterations_not_started', ofIterations(({ notStarted }) => notStarted)],
  ['iterations_per_second', ofIterations(({ rate }) => rate)],
  ...listColumns('iteration', ofIterations, ({ durationMs }) => durationMs),
  ...listColumns('active', ofIterations, ({ activeMs }) => activeMs),
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
  const { throughput, iterations = null, checks = null, scenarios = [] } = run;
  const all = { ...run, throughput: throughput.mean, timeShare: 1 };
  const ofScenarios = scenarios.map((one) => ({
    ...{ run, name: '', scenario: one.name, figures: null, iterations: one },
    checks: sumChecks(run, one.name),
  }));
  const named = (run.byName ?? []).map((one) => ({
    ...{ run, name: one.name, scenario: null, figures: one, iterations: null, checks: null },
  }));
  return [
    { run, name: '', scenario: null, figures: all, iterations, checks },
    ...ofScenarios,
    ...named,
  ];
}

/** Adds up the checks of a scenario; `null` without one. */
function sumChecks({ steps }: LoadResult, scenario: string): LoadResult['checks'] {
  const checks = steps.filter((step) => step.scenario === scenario).flatMap((step) => step.checks);
  if (checks.length === 0) return null;
  const sum = (key: 'passed' | 'failed') => checks.reduce((total, one) => total + one[key], 0);
  return { passed: sum('passed'), failed: sum('failed') };
}

/** Makes a cell of the requests of a row. */
function ofRequests(read: (figures: RequestFigures) => Cell): (row: LoadRow) => Cell {
  return ({ figures }) => (figures === null ? null : read(figures));
}

/** Makes a cell of the iterations of a row. */
function ofIterations(read: (iterations: IterationResult) => Cell): (row: LoadRow) => Cell {
  return ({ iterations }) => (iterations === null ? null : read(iterations));
}

function listColumns<Part>(
  clock: string,
  of: (read: (part: Part) => Cell) => (row: LoadRow) => Cell,
  times: (part: Part) => Distribution,
): Column<LoadRow>[] {
  return [
    [`${clock}_count`, of((part) => times(part).count)],
    [`${clock}_censored`, of((part) => times(part).censored)],
    [`${clock}_min_ms`, of((part) => times(part).min)],
    ...STATISTICS.map(
      ({ key }): Column<LoadRow> => [`${clock}_${key}_ms`, of((part) => times(part)[key])],
    ),
    // A lower bound must not be read as a value.
    [`${clock}_at_least`, of((part) => Object.keys(times(part).atLeast).join(' '))],
  ];
}
