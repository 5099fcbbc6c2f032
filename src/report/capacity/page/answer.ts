import { html, type Markup } from '../../html/markup.js';
import type { CapacityAnswer } from '../answer.js';

/** How far the question is answered: completely, by a lower bound, or not at all. */
export type AnswerReach = 'found' | 'at-least' | 'not-found';

/** Renders the answer in a sentence, and its reasoning. */
export function renderAnswer({ sentence, grounds }: CapacityAnswer, reach: AnswerReach): Markup {
  const lines = grounds.map((line) => html`<li>${line}</li>\n`);
  return html`<section class="verdict ${reach}">
<p class="sentence">${sentence}</p>
${lines.length > 0 ? html`<ul class="arithmetic">${lines}</ul>` : null}
</section>`;
}
