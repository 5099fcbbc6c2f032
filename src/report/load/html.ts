import { hasResponse } from '../../load/answered.js';
import { adviseOnClientBound, clientBound } from '../../load/outcome/client-bound-words.js';
import type { LoadResult } from '../../load/result.js';
import { listLoadConditions } from '../conditions.js';
import { explainMarks } from '../distributions/distribution.js';
import { renderGenerators } from '../generators/page.js';
import { buildNamePlots, renderByName } from '../html/by-name.js';
import { renderConditions } from '../html/conditions.js';
import { listLoadDefinitions, renderDefinitions } from '../html/definitions.js';
import { renderHeadline } from '../html/headline.js';
import { renderIterations } from '../html/iterations.js';
import { buildDistributionPlots, buildTimePlots } from '../html/load-plots.js';
import {
  renderConnectionTable,
  renderDistributionTable,
  renderErrorTable,
  renderFailingResponses,
  renderGeneratorTable,
  renderIterationTimes,
  renderPlanTable,
  renderRequestTable,
  renderServerTable,
  renderSlowestTable,
  renderStatusTable,
} from '../html/load-tables.js';
import { html, type Markup } from '../html/markup.js';
import { formatOrigin, renderPage, renderSection, renderWarnings } from '../html/page.js';
import { renderPlot } from '../html/plot.js';
import { renderFindings, renderStepPlots, renderSteps } from '../html/steps.js';
import { describePlan } from '../plan.js';
import { listWarnings } from '../warnings.js';

/** Renders the result of a load as a self-contained HTML page. */
export function renderLoadPage(result: LoadResult): string {
  const failing = renderFailingResponses(result);
  const slowest = renderSlowestTable(result);
  const overTime = buildTimePlots(result);
  const distribution = hasResponse(result) ? buildDistributionPlots(result) : [];
  const names = buildNamePlots(result);
  return renderPage({
    title: 'Load report',
    summary: describePlan(result.plan),
    origin: formatOrigin(result.tool, result.startedAt),
    styles: ['chart.css'],
    main: [
      renderConditions(listLoadConditions(result)),
      renderAlarm(result),
      renderHeadline(result),
      renderWarnings(listWarnings(result)),
      renderIterations(result),
      renderSteps(result),
      renderFindings(result),
      overTime.length > 0
        ? renderSection('Over time', overTime.map(renderPlot), renderNoPercentiles(result))
        : null,
      renderGenerators(result),
      distribution.length > 0 ? renderSection('Distribution', distribution.map(renderPlot)) : null,
      renderByName(result, names),
      renderStepPlots(result, names),
      renderSection(
        'Numbers',
        html`<div class="tables">${[renderIterationTimes(result), renderDistributionTable(result), renderRequestTable(result), renderStatusTable(result), renderErrorTable(result), renderConnectionTable(result), renderGeneratorTable(result), renderServerTable(result)]}</div>`,
        explainMarks(hasResponse(result) ? [result.latencyMs, result.serviceTimeMs] : []).map(
          (mark) => html`<p class="note">${mark}</p>`,
        ),
      ),
      slowest === null ? null : renderSection('Slowest requests', slowest),
      failing.length > 0 ? renderSection('Failing responses', failing) : null,
      renderSection('Plan', renderPlanTable(result)),
      renderSection('What the numbers mean', renderDefinitions(listLoadDefinitions(result))),
    ],
    result,
  });
}

/** Says why the latency over time of a merged result is not known. */
function renderNoPercentiles({ generators, windowHistograms, series }: LoadResult): Markup | null {
  const isKnown = windowHistograms !== undefined || series.some(({ p50Ms }) => p50Ms !== null);
  if (generators === undefined || isKnown) return null;
  return html`<p class="note">Percentiles over time are not known of all generators together: their results have no latencies of each 100 ms, as those of shares (<code>--segment</code>) have. Those of each generator are below.</p>`;
}

function renderAlarm({ generator }: LoadResult): Markup | null {
  if (!generator.clientBound) return null;
  const { title, meaning } = clientBound;
  const advice = adviseOnClientBound(generator);
  return html`<div class="alarm" role="alert">
<p><strong>${title}</strong> ${meaning}</p>
<ul>${[...generator.reasons, advice].map((line) => html`<li>${line}</li>`)}</ul>
</div>`;
}
