import type { Explanation } from '../../explain/result.js';
import { duration, share } from '../../format/units.js';
import { renderDefinitions } from '../html/definitions.js';
import { renderHeadline } from '../html/headline.js';
import { html, type Markup } from '../html/markup.js';
import { formatOrigin, renderPage, renderSection, renderWarnings } from '../html/page.js';
import { describePlan } from '../plan.js';
import { listWarnings } from '../warnings.js';
import { renderCapacity } from './page/capacity.js';
import { EXPLANATION_DEFINITIONS } from './page/definitions.js';
import { renderForest } from './page/forest.js';
import { renderLatency } from './page/latency.js';
import { renderPopulation } from './page/population.js';
import { renderEvidence, renderHotFunctions, renderRuledOut } from './page/tables.js';
import { renderList, renderRemedy, renderVerdict } from './page/verdict.js';

/** An explanation as one HTML page that needs nothing from any network, and no script. */
export function renderExplanationPage(explanation: Explanation): string {
  const { load, tool, startedAt, durationMs, cannotSee } = explanation;
  const took = duration(Math.round(durationMs / 1000) * 1000);
  return renderPage({
    title: 'Explanation',
    summary: describePlan(load.plan),
    origin: `${formatOrigin(tool, startedAt)} · took ${took}`,
    styles: ['verdict.css', 'chart.css', 'explain.css'],
    main: [
      renderVerdict(explanation),
      renderHeadline(load),
      renderWarnings(listDoubts(explanation)),
      renderRemedy(explanation),
      renderPart('Where the requests are', renderPopulation(explanation)),
      renderPart('What was tried', renderForest(explanation), renderResolution(explanation)),
      renderPart('How much it bears', renderCapacity(explanation)),
      renderPart('How long requests take', renderLatency(explanation)),
      renderPart("The loop's time, by function", renderHotFunctions(explanation)),
      renderPart('What speaks for it and against others', renderGrounds(explanation)),
      renderPart('What could not be seen', renderList('unseen', cannotSee)),
      renderSection('What the words mean', renderDefinitions(EXPLANATION_DEFINITIONS)),
    ],
    result: explanation,
  });
}

/** A section, unless there is nothing for it. */
function renderPart(heading: string, content: Markup | null, ...more: Markup[]): Markup | null {
  return content && renderSection(heading, content, ...more);
}

function listDoubts({ interrupted, load }: Explanation): string[] {
  const messages = listWarnings(load);
  return interrupted ? ['Ended early: what was not tried is missing.', ...messages] : messages;
}

function renderResolution({ noise, probeCost }: Explanation): Markup {
  const lost = (ratio: number) => share(Math.max(0, 1 - ratio));
  const cost = probeCost
    ? ` The probe inside the server costs ${lost(probeCost.ratio)} of throughput [${lost(probeCost.high)}, ${lost(probeCost.low)}].`
    : '';
  return html`<p class="resolution">What differs by less than ${share(noise)} is noise.${cost}</p>`;
}

function renderGrounds(explanation: Explanation): Markup | null {
  const tables = [renderEvidence(explanation), renderRuledOut(explanation)];
  return tables.every((one) => one === null) ? null : html`${tables}`;
}
