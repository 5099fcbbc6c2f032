import type { ComparisonMetric, ComparisonResult } from '../../compare/result.js';
import { renderConditions } from '../html/conditions.js';
import { renderDefinitions } from '../html/definitions.js';
import { html, type Markup } from '../html/markup.js';
import { formatOrigin, renderPage, renderSection, renderWarnings } from '../html/page.js';
import { renderPlot } from '../html/plot.js';
import { describePlan } from '../plan.js';
import { listComparisonConditions } from './conditions.js';
import { groupByName, listOverallRows, selectNames } from './names.js';
import { COMPARISON_DEFINITIONS } from './page/definitions.js';
import { buildLatencyPlots } from './page/distributions.js';
import { renderRunChart } from './page/runs.js';
import { renderSettingsTable } from './page/settings.js';
import { renderRatioTable } from './page/table.js';
import { renderChanges, renderVerdict } from './page/verdict.js';
import { describeClientBound, listGrounds } from './sentences.js';

/** Renders a comparison as a self-contained HTML page. */
export function renderComparisonPage(result: ComparisonResult): string {
  const plots = buildLatencyPlots(result);
  return renderPage({
    title: 'Comparison',
    summary: describePlan(result.plan),
    origin: formatOrigin(result.tool, result.startedAt),
    styles: ['verdict.css', 'chart.css', 'comparison.css'],
    main: [
      renderVerdict(result),
      renderConditions(listComparisonConditions(result)),
      renderChanges(result),
      renderWarnings(listDoubts(result)),
      renderSection('All requests', renderOverall(result)),
      renderNames(result),
      plots.length > 0 ? renderSection('Distribution', plots.map(renderPlot)) : null,
      renderRuns(result),
      renderSection('Settings', renderSettingsTable(result)),
      renderSection('What the numbers mean', renderDefinitions(COMPARISON_DEFINITIONS)),
    ],
    result,
  });
}

function listDoubts(result: ComparisonResult): string[] {
  const bound = describeClientBound(result);
  return [
    ...(bound === null ? [] : [bound]),
    ...result.differences.map((difference) => `The sides differ: ${difference}`),
    ...result.warnings.filter(({ id }) => id !== 'client-bound').map(({ message }) => message),
  ];
}

function renderOverall(result: ComparisonResult): (Markup | null)[] {
  const caption = 'Ratios of B to A with their intervals. The shaded band is the margin.';
  const notes = listGrounds(result).map(
    ([label, sentence]) =>
      html`<p class="note">${label.charAt(0).toUpperCase()}${label.slice(1)}: ${sentence}.</p>`,
  );
  return [
    renderRatioTable(caption, result, [{ name: '', rows: listOverallRows(result) }]),
    ...notes,
  ];
}

function renderNames(result: ComparisonResult): Markup | null {
  const all = groupByName(result);
  if (all.length === 0) return null;
  const { shown, rest } = selectNames(result);
  const complete =
    rest === null
      ? null
      : html`<details><summary>${rest}</summary>${renderRatioTable('All request names', result, all)}</details>`;
  return renderSection(
    'By request name',
    renderRatioTable(
      rest === null ? 'Each request name' : 'What differs, the largest difference first',
      result,
      shown,
    ),
    complete,
  );
}

function renderRuns(result: ComparisonResult): Markup | null {
  const wanted = new Set<ComparisonMetric>([result.verdict.metric, 'throughput', 'p99Ms']);
  const charts = [...wanted].map((metric) => renderRunChart(result, metric));
  return charts.some((chart) => chart !== null) ? renderSection('Runs', charts) : null;
}
