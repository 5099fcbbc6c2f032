import { CATALOGUE } from '../../../explain/limits/catalogue.js';
import type { Explanation } from '../../../explain/result.js';
import { throughputRange } from '../../../format/ratios.js';
import { html, type Markup } from '../../html/markup.js';
import { STATUS } from '../status.js';

/** The limit in a sentence, how sure that is, and the arithmetic. */
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

/** What to change, and what that gives; nothing where there is no remedy. */
export function renderRemedy({ remedy, verdict }: Explanation): Markup | null {
  if (!remedy) return null;
  const { change, predictedThroughput, nextLimit } = remedy;
  const next = nextLimit && nextLimit !== verdict.limit ? renderLimitName(nextLimit) : null;
  return html`<section class="remedy">
<h2>To get more</h2>
<p class="change">${change}</p>
${predictedThroughput ? html`<p>Predicted: <strong>${throughputRange(predictedThroughput)}</strong> req/s</p>` : null}
${next ? html`<p>The next limit: ${next}</p>` : null}
</section>`;
}

/** A limit by its title, with its id for `--why`. */
export function renderLimitName(id: keyof typeof CATALOGUE): Markup {
  return html`${CATALOGUE[id].title} <code>${id}</code>`;
}

/** Lines of text as a list; nothing without a line. */
export function renderList(kind: string, lines: string[]): Markup | null {
  if (lines.length === 0) return null;
  return html`<ul class="${kind}">${lines.map((line) => html`<li>${line}</li>\n`)}</ul>`;
}

function joinNames(names: Markup[]): Markup {
  return html`${names.map((name, index) => html`${index > 0 ? ', ' : ''}${name}`)}`;
}

/** The sentence of a verdict continues one that is not here: "LIMIT: ...". */
function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
