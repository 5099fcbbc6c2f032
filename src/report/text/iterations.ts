import { count, plural, rate, share, significant, time } from '../../format/units.js';
import type { HookResult, LoadResult, ScenarioResult } from '../../load/result.js';
import { formatStatistic } from '../distributions/distribution.js';
import { formatTotal } from '../own-metrics.js';
import { cutName } from './cut-name.js';
import { formatField, type Sheet } from './sheet.js';

/** Formats the account of iterations and the checks; empty without scenarios. */
export function formatIterations(result: LoadResult, sheet: Sheet): string[] {
  const { iterations = null, checks = null } = result;
  if (iterations === null) return [];
  const { notStarted } = iterations;
  const unstarted = `${count(notStarted)} due, and no user was free`;
  return [
    ...formatField(sheet, 'iterations', formatAccount(result), 'strong'),
    ...(notStarted > 0 ? formatField(sheet, 'NOT STARTED', unstarted, 'bad') : []),
    ...(checks === null ? [] : formatChecks(checks, sheet)),
  ];
}

function formatAccount({ iterations, plan }: LoadResult): string {
  if (iterations === null) return '';
  const { started, completed, failed, inProgress } = iterations;
  const asked =
    plan.rate !== null && plan.stages.length === 0 ? ` of ${rate(plan.rate)} asked for` : '';
  const rest = [
    [failed, 'failed'],
    [inProgress, 'in progress'],
  ] as const;
  const terms = rest
    .filter(([number]) => number > 0)
    .map(([number, what]) => ` + ${count(number)} ${what}`);
  return `${rate(iterations.rate)}/s${asked}, ${count(started)} started = ${count(completed)} completed${terms.join('')}`;
}

function formatChecks(
  { passed, failed }: NonNullable<LoadResult['checks']>,
  sheet: Sheet,
): string[] {
  const all = passed + failed;
  if (all === 0) return [];
  const text = `${share(passed / all)} passed, ${count(passed)} of ${count(all)}`;
  return formatField(sheet, 'checks', text, failed > 0 ? 'bad' : undefined);
}

const COLUMN_WIDTH = 10;
const FAILED_WIDTH = 9;

/** Formats the iterations by scenario; empty with fewer than two. */
export function formatScenarios({ scenarios = [] }: LoadResult, sheet: Sheet): string[] {
  if (scenarios.length < 2) return [];
  const width = sheet.width - 4 * COLUMN_WIDTH - FAILED_WIDTH;
  const heads = ['completed', '/s', 'p50', 'p99'].map((head) => head.padStart(COLUMN_WIDTH));
  return [
    sheet.paint(
      'dim',
      `${'iterations'.padEnd(width)}${heads.join('')}${'failed'.padStart(FAILED_WIDTH)}`,
    ),
    ...scenarios.map((scenario) => formatScenario(scenario, width, sheet)),
  ];
}

function formatScenario(scenario: ScenarioResult, width: number, sheet: Sheet): string {
  const { name, completed, failed, durationMs } = scenario;
  const times = (['p50', 'p99'] as const).map((point) =>
    completed > 0 ? formatStatistic(durationMs, point, '≥') : '–',
  );
  const cells = [count(completed), rate(scenario.rate), ...times];
  const failures = count(failed).padStart(FAILED_WIDTH);
  return [
    cutName(name, width - 1).padEnd(width),
    ...cells.map((cell) => cell.padStart(COLUMN_WIDTH)),
    failed > 0 ? sheet.paint('bad', failures) : failures,
  ].join('');
}

/** Maximum number of own metrics on a terminal; JSON and page contain all. */
const MAX_METRICS = 12;

/** Formats the metrics of the scenarios' own as a table; empty without one. */
export function formatMetrics({ metrics = {} }: LoadResult, sheet: Sheet): string[] {
  const all = Object.entries(metrics);
  if (all.length === 0) return [];
  const columns = ['count', 'sum', 'p50', 'p95', 'max'] as const;
  const width = sheet.width - columns.length * COLUMN_WIDTH;
  const heads = columns.map((column) => column.padStart(COLUMN_WIDTH)).join('');
  const more = all.length - MAX_METRICS;
  return [
    sheet.paint('dim', `${'metrics'.padEnd(width)}${heads}`),
    ...all.slice(0, MAX_METRICS).map(([name, metric]) => {
      const cells = columns.map((column) =>
        isTotal(column) ? formatTotal(metric[column]) : significant(metric[column]),
      );
      const padded = cells.map((cell) => cell.padStart(COLUMN_WIDTH));
      return `${cutName(name, width - 1).padEnd(width)}${padded.join('')}`;
    }),
    ...(more > 0 ? [sheet.paint('dim', `and ${count(more)} more in the JSON result`)] : []),
  ];
}

function isTotal(column: string): boolean {
  return column === 'count' || column === 'sum';
}

/** Formats the time of hooks; empty without hooks. */
export function formatHooks({ hooks = null, durationMs }: LoadResult, sheet: Sheet): string[] {
  if (hooks === null) return [];
  return formatField(sheet, 'hooks', describeHooks(hooks, durationMs));
}

/** Describes how much time hooks took. */
export function describeHooks({ calls, busyMs, waitMs }: HookResult, durationMs: number): string {
  const each = (ms: number) => time(calls === 0 ? null : ms / calls);
  const busy = durationMs > 0 ? share(Math.min(1, busyMs / durationMs)) : '–';
  return `${plural(calls, 'call')}, JavaScript busy ${busy}, ${each(busyMs)} each, ${each(waitMs)} of waiting each`;
}
