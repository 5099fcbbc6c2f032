import { count, rate, share } from '../../format/units.js';
import { hasResponse } from '../../load/answered.js';
import type { LoadResult } from '../../load/result.js';
import { formatStatistic } from '../distributions/distribution.js';
import {
  groupSteps,
  listFindings,
  listSharedNames,
  type StepFinding,
  type StepRow,
} from '../steps.js';
import { type Child, html, type Markup } from './markup.js';
import { renderSection } from './page.js';
import { type Plot, renderPlot } from './plot.js';
import { renderTable, renderTextTable } from './tables.js';

const POINTS = ['p50', 'p90', 'p99', 'max'] as const;
const HEADS = ['step', 'share of the time', 'req/s', ...POINTS, 'failed'];

/** Renders the steps of scenarios with the share of the time that each takes; `null` without scenarios. */
export function renderSteps(result: LoadResult): Markup | null {
  const groups = groupSteps(result);
  if (groups.length === 0) return null;
  const table = renderTable(
    'In the order of the scenario; latency from the moment a request was due',
    HEADS,
    groups.flatMap(({ scenario, rows }) => [
      ...(groups.length > 1 ? [renderTitle(scenario)] : []),
      ...rows.map(renderRow),
    ]),
  );
  const shared = listSharedNames(groups);
  const note =
    shared.length > 0
      ? html`<p class="note">In several scenarios, with their figures together: ${shared.join(', ')}.</p>`
      : null;
  return renderSection('Steps', html`<div class="steps">${table}</div>`, note);
}

/** Renders the latencies of the steps; `null` without scenarios, or without a response. */
export function renderStepPlots({ steps = [] }: LoadResult, plots: Plot[]): Markup | null {
  if (steps.length === 0 || plots.length === 0) return null;
  return renderSection(
    'Latency by step',
    html`<div class="small-plots">${plots.map(renderPlot)}</div>`,
  );
}

function renderTitle(scenario: string): Child[] {
  return [html`<strong>${scenario}</strong>`, ...HEADS.slice(1).map(() => '')];
}

function renderRow({ name, requests, failed }: StepRow): Child[] {
  const timeShare = requests?.timeShare ?? null;
  return [
    html`<code>${name}</code>`,
    timeShare === null ? '–' : renderShare(timeShare),
    requests === null ? '–' : rate(requests.throughput),
    ...POINTS.map((point) =>
      requests !== null && hasResponse(requests)
        ? formatStatistic(requests.latencyMs, point, '≥')
        : '–',
    ),
    failed > 0 ? html`<strong class="bad">${count(failed)}</strong>` : count(failed),
  ];
}

/** Renders a share as a bar and a number. */
function renderShare(part: number): Markup {
  const width = Math.max(0.5, 100 * part).toFixed(1);
  return html`<svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="10"/></svg><span class="share">${share(part)}</span>`;
}

/** Renders what failed in the steps, with the first example of each; `null` if nothing did. */
export function renderFindings(result: LoadResult): Markup | null {
  const table = renderTextTable(
    'Statuses, checks and values, each with the first example',
    ['step', 'what', 'failed', 'of', 'for example'],
    listFindings(result).map(renderFinding),
  );
  return table && renderSection('Failed in steps', html`<div class="findings">${table}</div>`);
}

function renderFinding({ step, what, number, of, example }: StepFinding): Child[] {
  return [
    html`<code>${step}</code>`,
    what,
    html`<strong class="bad">${count(number)}</strong>`,
    of === null ? '' : count(of),
    example ?? '',
  ];
}
