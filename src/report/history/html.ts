import { plural } from '../../format/units.js';
import type { HistoryPlan, HistoryPoint, HistoryResult } from '../../history/result.js';
import { renderDefinitions } from '../html/definitions.js';
import { type Child, html, type Markup } from '../html/markup.js';
import { renderPage, renderSection } from '../html/page.js';
import { renderTable, renderTextTable } from '../html/tables.js';
import { describePlan } from '../plan.js';
import { renderHistoryChart } from './chart.js';
import {
  countResults,
  type FigureWords,
  formatEnds,
  formatMinute,
  listFigures,
  namePlan,
  shortenCommit,
} from './words.js';

const DEFINITIONS = [
  [
    'commit',
    'what was checked out when the run began, as the result says; results of one commit are one point, others a point each',
  ],
  [
    'mean',
    'the geometric mean of the runs of a point; runs of which the generator was the limit are left out if there are others',
  ],
  [
    '95 % interval',
    "of several runs: Student's t on their logarithms. Of a single run: of its ten parts, for p99 at least that of the order statistic; runs vary by more than one of them shows",
  ],
  ['order', 'by the start of the first run of a point, with equal distances'],
] as const;

/** Renders stored results over time as a self-contained page. */
export function renderHistoryPage(result: HistoryResult): string {
  const { plans, skipped, tool } = result;
  return renderPage({
    title: 'History',
    summary: `${plural(countResults(result), 'result')} of ${plural(plans.length, 'load')} in ${result.folder}`,
    origin: `${tool.name} ${tool.version}`,
    styles: ['chart.css', 'history.css'],
    main: [
      ...plans.map(renderPlan),
      skipped.length > 0
        ? renderSection(
            'Skipped files',
            renderTextTable(
              'Files that are no part of the history',
              ['file', 'reason'],
              skipped.map(({ file, reason }) => [file, reason]),
            ),
          )
        : null,
      renderSection('What the numbers mean', renderDefinitions(DEFINITIONS)),
    ],
    result,
  });
}

function renderPlan(plan: HistoryPlan): Markup {
  const figures = listFigures(plan);
  return renderSection(
    namePlan(plan),
    html`<p class="note">${describePlan(plan.plan)}</p>`,
    html`<div class="small-plots">${figures.map((figure) => renderHistoryChart(plan, figure))}</div>`,
    renderTable(
      'The newest first; times are UTC',
      ['', 'runs', ...figures.map(({ head }) => head)],
      plan.points.toReversed().map((point) => renderRow(point, figures)),
    ),
  );
}

function renderRow(point: HistoryPoint, figures: readonly FigureWords[]): Child[] {
  const { commit, startedAt, runs, clientBound } = point;
  const name = commit === null ? null : html`<code>${shortenCommit(commit)}</code>`;
  const bound = clientBound
    ? html`<small class="bad">the load generator was the limit</small>`
    : null;
  const minute = formatMinute(startedAt);
  return [
    html`${name ?? minute}${name && html`<small>${minute}</small>`}${bound}`,
    runs.length,
    ...figures.map((figure) => {
      const known = figure.read(point);
      if (known === null) return '–';
      const { value, interval } = known;
      return html`${figure.cell(value)}${interval && html`<small>${formatEnds(interval, figure)}</small>`}`;
    }),
  ];
}
