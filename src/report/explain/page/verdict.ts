import type { LimitId } from '../../../explain/limit-ids.js';
import { LIMITS } from '../../../explain/limits/limits.js';
import type { Explanation } from '../../../explain/result.js';
import { throughputRange, timeRange } from '../../../format/ratios.js';
import { capitalize, html, type Markup } from '../../html/markup.js';
import { STATUS } from '../status.js';

/** Renders the limit in a sentence, its status, and the arithmetic. */
export function renderVerdict({ verdict }: Explanation): Markup {
  const { limit, status, sentence, arithmetic, alsoLimiting } = verdict;
  const { word, meaning } = STATUS[status];
  return html`<section class="verdict ${status}">
<p class="status"><strong class="badge">${word}</strong> ${limit ? html`<code>${limit}</code> ` : null}<span>${meaning}</span></p>
<p class="sentence">${capitalize(sentence)}</p>
${renderList('arithmetic', arithmetic)}
${alsoLimiting.length > 0 ? html`<p class="also">Also limiting: ${joinNames(alsoLimiting.map(renderLimitName))}</p>` : null}
</section>`;
}

/** Renders the remedy and its predicted effect; `null` without a remedy. */
export function renderRemedy({ remedy, verdict }: Explanation): Markup | null {
  if (!remedy) return null;
  const { change, predictedThroughput, predictedP99Ms, nextLimit, alternatives = [] } = remedy;
  const next = nextLimit && nextLimit !== verdict.limit ? renderLimitName(nextLimit) : null;
  return html`<section class="remedy">
<h2>To get more</h2>
<p class="change">${change}</p>
${predictedThroughput ? html`<p>Predicted: <strong>${throughputRange(predictedThroughput)}</strong> req/s</p>` : null}
${predictedP99Ms ? html`<p>Predicted p99: <strong>${timeRange(predictedP99Ms)}</strong></p>` : null}
${alternatives.map(
  (other) =>
    html`<p>Or: ${other.change}. Predicted: <strong>${throughputRange(other.predictedThroughput)}</strong> req/s</p>`,
)}
${next ? html`<p>Next limit: ${next}</p>` : null}
</section>`;
}

/** Renders the title of a limit, with its id for `--why`. */
export function renderLimitName(id: LimitId): Markup {
  return html`${LIMITS[id].text.title} <code>${id}</code>`;
}

/** Renders lines of text as a list; `null` without a line. */
export function renderList(kind: string, lines: string[]): Markup | null {
  if (lines.length === 0) return null;
  return html`<ul class="${kind}">${lines.map((line) => html`<li>${line}</li>\n`)}</ul>`;
}

function joinNames(names: Markup[]): Markup {
  return html`${names.map((name, index) => html`${index > 0 ? ', ' : ''}${name}`)}`;
}
