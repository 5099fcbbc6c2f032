import type { Explanation } from '../../explain/result.js';
import { duration, share } from '../../format/units.js';
import { FLAME_GRAPH_SCRIPT, FLAME_GRAPH_STYLE } from '../flame-graph/figure.js';
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
import { renderAllocations, renderCpu, renderWaits } from './page/own-code.js';
import { renderPopulation } from './page/population.js';
import { renderEvidence, renderRequests, renderRuledOut } from './page/tables.js';
import { renderList, renderRemedy, renderVerdict } from './page/verdict.js';

/** Renders an explanation as a self-contained HTML page, with a script if it has flame graphs. */
export function renderExplanationPage(explanation: Explanation): string {
  const { load, tool, startedAt, durationMs, cannotSee } = explanation;
  const hasGraphs = [explanation.cpu, explanation.waits, explanation.allocations].some(Boolean);
  const took = duration(Math.round(durationMs / 1000) * 1000);
  return renderPage({
    title: 'Explanation',
    summary: describePlan(load.plan),
    origin: `${formatOrigin(tool, startedAt)} · took ${took}`,
    styles: ['verdict.css', 'chart.css', 'explain.css', ...(hasGraphs ? [FLAME_GRAPH_STYLE] : [])],
    scripts: hasGraphs ? [FLAME_GRAPH_SCRIPT] : [],
    main: [
      renderVerdict(explanation),
      renderHeadline(load),
      renderWarnings(listDoubts(explanation)),
      renderRemedy(explanation),
      renderPart('Where the requests are', renderPopulation(explanation)),
      renderPart('By request name', renderRequests(explanation)),
      renderPart('Experiments', renderForest(explanation), renderResolution(explanation)),
      renderPart('Capacity', renderCapacity(explanation)),
      renderPart('Response times', renderLatency(explanation)),
      renderPart('CPU time', renderCpu(explanation)),
      renderPart('Waits', renderWaits(explanation)),
      renderPart('Memory', renderAllocations(explanation)),
      renderPart('Evidence and limits ruled out', renderGrounds(explanation)),
      renderPart('Not observed', renderList('unseen', cannotSee)),
      renderSection('Definitions', renderDefinitions(EXPLANATION_DEFINITIONS)),
    ],
    result: explanation,
  });
}

/** Renders a section; `null` without content. */
function renderPart(heading: string, content: Markup | null, ...more: Markup[]): Markup | null {
  return content && renderSection(heading, content, ...more);
}

function listDoubts({ interrupted, load }: Explanation): string[] {
  const messages = listWarnings(load);
  return interrupted ? ['Ended early: further experiments are missing.', ...messages] : messages;
}

function renderResolution({ noise, probeCost }: Explanation): Markup {
  const formatLoss = (ratio: number) => share(Math.max(0, 1 - ratio));
  const cost = probeCost
    ? ` The probe inside the server costs ${formatLoss(probeCost.ratio)} of throughput [${formatLoss(probeCost.high)}, ${formatLoss(probeCost.low)}].`
    : '';
  return html`<p class="resolution">Differences below ${share(noise)} are noise.${cost}</p>`;
}

function renderGrounds(explanation: Explanation): Markup | null {
  const tables = [renderEvidence(explanation), renderRuledOut(explanation)];
  return tables.every((one) => one === null) ? null : html`${tables}`;
}
