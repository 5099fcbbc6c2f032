import { clientBound } from '../load/outcome/client-bound-words.js';
import type { LoadResult } from '../load/result.js';
import { marksOf } from './distribution.js';
import { definitionList, loadDefinitions } from './html/definitions.js';
import { headline } from './html/headline.js';
import { distributionPlots, timePlots } from './html/load-plots.js';
import {
  connectionTable,
  distributionTable,
  errorTable,
  failingResponses,
  generatorTable,
  planTable,
  requestTable,
  serverTable,
  statusTable,
} from './html/load-tables.js';
import { html, type Markup } from './html/markup.js';
import { originOf, page, section, warningList } from './html/page.js';
import { figure } from './html/plot.js';
import { planSentence } from './plan.js';
import { warningMessages } from './warnings.js';

/** The report of a run as one HTML page that needs nothing from any network. */
export function htmlReport(result: LoadResult): string {
  const failing = failingResponses(result);
  const overTime = timePlots(result);
  const distribution = distributionPlots(result);
  const hint = html`<p class="hint">Drag to zoom, double-click to see all; with the keyboard, arrow keys move the cursor.</p>`;
  return page({
    title: 'Load report',
    summary: planSentence(result.plan),
    origin: originOf(result.tool, result.startedAt),
    main: [
      alarm(result),
      headline(result),
      warningList(warningMessages(result)),
      overTime.length > 0 ? section('Over time', hint, overTime.map(figure)) : null,
      distribution.length > 0 ? section('Distribution', distribution.map(figure)) : null,
      section(
        'Numbers',
        html`<div class="tables">${[distributionTable(result), requestTable(result), statusTable(result), errorTable(result), connectionTable(result), generatorTable(result), serverTable(result)]}</div>`,
        marksOf([result.latencyMs, result.serviceTimeMs]).map(
          (mark) => html`<p class="hint">${mark}</p>`,
        ),
      ),
      failing.length > 0 ? section('Failing responses', failing) : null,
      section('Plan', planTable(result)),
      section('What the numbers mean', definitionList(loadDefinitions)),
    ],
    plots: [...overTime, ...distribution],
    result,
  });
}

function alarm({ generator }: LoadResult): Markup | null {
  if (!generator.clientBound) return null;
  const { title, meaning, advice } = clientBound;
  return html`<div class="alarm" role="alert">
<p><strong>${title}</strong> ${meaning}</p>
<ul>${[...generator.reasons, advice].map((line) => html`<li>${line}</li>`)}</ul>
</div>`;
}
