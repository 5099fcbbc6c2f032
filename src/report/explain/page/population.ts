import type { ExplainStage, Explanation } from '../../../explain/result.js';
import { amount } from '../../../format/ratios.js';
import { count, share } from '../../../format/units.js';
import { html, type Markup } from '../../html/markup.js';
import { renderTable } from '../../html/tables.js';

/** Number of colors for stages; further stages repeat them. */
const COLORS = 8;

/** Renders the requests in flight by stage, as a bar and as numbers. */
export function renderPopulation({ population }: Explanation): Markup | null {
  const total = population.reduce((sum, { requests }) => sum + requests, 0);
  if (total <= 0) return null;
  const parts = population.map(({ label, requests }) => `${label} ${share(requests / total)}`);
  let before = 0;
  const bars = population.map((stage, index) => {
    const [from, wide] = [toPercent(before / total), toPercent(stage.requests / total)];
    before += stage.requests;
    return html`<rect fill="var(--${chooseColor(stage, index)})" x="${from}%" width="${wide}%" height="100%"><title>${stage.label}: ${amount(stage.requests)}</title></rect>`;
  });
  const rows = population.map((stage, index) => [
    html`<svg class="swatch" width="12" height="12"><rect fill="var(--${chooseColor(stage, index)})" width="100%" height="100%"/></svg>${stage.label}`,
    amount(stage.requests),
    share(stage.requests / total),
  ]);
  return html`<figure class="plot">
<figcaption><h3>${count(total)} ${Math.round(total) === 1 ? 'request' : 'requests'} in flight, by stage</h3><p>Mean numbers by Little's law: throughput times the time in a stage.</p></figcaption>
<svg class="stack" height="32" role="img" aria-label="${parts.join(', ')}">${bars}</svg>
</figure>
${renderTable('Requests by stage', ['stage', 'requests', 'share'], rows)}`;
}

/** Returns the name of the variable of a stage's color. The policy of the page does not allow styles in attributes. */
function chooseColor({ stage }: ExplainStage, index: number): string {
  return stage === 'unexplained' ? 'unexplained' : `stage-${index % COLORS}`;
}

function toPercent(part: number): number {
  return Number((100 * part).toFixed(3));
}
