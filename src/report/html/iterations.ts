import { count, rate, share, significant, time } from '../../format/units.js';
import type { IterationResult, LoadResult } from '../../load/result.js';
import { formatStatistic } from '../distributions/distribution.js';
import { formatTotal } from '../own-metrics.js';
import { type Child, html, type Markup } from './markup.js';
import { renderSection } from './page.js';
import { renderTable } from './tables.js';
import { renderTile, splitUnit } from './tiles.js';

/** Renders the most important numbers of iterations and checks as tiles; none without scenarios. */
export function renderIterationTiles(result: LoadResult): Markup[] {
  const { iterations = null, checks = null } = result;
  if (iterations === null) return [];
  const { started, completed, failed, durationMs } = iterations;
  const p99 = splitUnit(completed > 0 ? formatStatistic(durationMs, 'p99', '≥') : '–');
  const all = checks === null ? 0 : checks.passed + checks.failed;
  return [
    renderTile(
      'Iterations',
      rate(iterations.rate),
      '/s',
      `${count(completed)} of ${count(started)} completed`,
    ),
    renderTile('Iteration p99', ...p99, '99 of 100 iterations'),
    renderTile(
      'Failed iterations',
      ...splitUnit(started > 0 ? share(failed / started) : '–'),
      `${count(failed)} of ${count(started)}`,
    ),
    ...(checks !== null && all > 0
      ? [
          renderTile(
            'Checks passed',
            ...splitUnit(share(checks.passed / all)),
            `${count(checks.failed)} of ${count(all)} failed`,
          ),
        ]
      : []),
  ];
}

/** Renders the account of iterations by scenario, with the metrics of their own; `null` without scenarios. */
export function renderIterations(result: LoadResult): Markup | null {
  const { iterations = null, scenarios = [] } = result;
  if (iterations === null) return null;
  const rows = scenarios.map((one) => toRow(html`<code>${one.name}</code>`, one));
  if (scenarios.length > 1) rows.push(toRow('all', iterations));
  const table = renderTable(
    'Started = completed + failed + in progress at the end; durations with pauses',
    [
      ...['scenario', 'started', 'completed', 'failed', 'in progress', 'not started', '/s'],
      ...['p50', 'p99', 'active p50'],
    ],
    rows,
  );
  return renderSection(
    'Iterations',
    html`<div class="iterations">${table}</div>`,
    renderMetrics(result),
  );
}

function toRow(name: Child, one: IterationResult): Child[] {
  const isKnown = one.completed > 0;
  return [
    name,
    count(one.started),
    count(one.completed),
    one.failed > 0 ? html`<strong class="bad">${count(one.failed)}</strong>` : '0',
    count(one.inProgress),
    count(one.notStarted),
    rate(one.rate),
    isKnown ? formatStatistic(one.durationMs, 'p50', '≥') : '–',
    isKnown ? formatStatistic(one.durationMs, 'p99', '≥') : '–',
    isKnown ? formatStatistic(one.activeMs, 'p50', '≥') : '–',
  ];
}

const COLUMNS = ['min', 'mean', 'p50', 'p90', 'p95', 'p99', 'max'] as const;

function renderMetrics({ metrics = {} }: LoadResult): Markup | null {
  const table = renderTable(
    'Own metrics, from hooks, in the unit of their values',
    ['metric', 'values', 'sum', ...COLUMNS],
    Object.entries(metrics).map(([name, metric]) => [
      html`<code>${name}</code>`,
      count(metric.count),
      formatTotal(metric.sum),
      ...COLUMNS.map((column) => significant(metric[column])),
    ]),
  );
  return table && html`<div class="own-metrics">${table}</div>`;
}

/** Lists the time of hooks for the table of the generator. */
export function listHookRows({ hooks = null, durationMs }: LoadResult): Child[][] {
  if (hooks === null) return [];
  const { calls, busyMs, waitMs } = hooks;
  const each = (ms: number) => time(calls === 0 ? null : ms / calls);
  return [
    ['hooks called', count(calls)],
    ['JavaScript busy with hooks', durationMs > 0 ? share(Math.min(1, busyMs / durationMs)) : '–'],
    ['a hook, mean', each(busyMs)],
    ['waiting for other hooks, mean', each(waitMs)],
  ];
}
