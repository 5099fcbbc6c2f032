import { html, type Markup } from '../../html/markup.js';
import type { CapacityAnswer } from '../answer.js';

/** How much of the question is answered: all of it, from below, or nothing. */
export type AnswerReach = 'found' | 'at-least' | 'not-found';

/** The answer in a sentence, and what it rests on. */
export function renderAnswer({ sentence, grounds }: CapacityAnswer, reach: AnswerReach): Markup {
  const lines = grounds.map((line) => html`<li>${line}</li>\n`);
  return html`<section class="verdict ${reach}">
<p class="sentence">${sentence}</p>
${lines.length > 0 ? html`<ul class="arithmetic">${lines}</ul>` : null}
</section>`;
}
