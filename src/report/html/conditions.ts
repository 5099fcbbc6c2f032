import { chooseSign, describeOutcome, type JudgedCondition } from '../conditions.js';
import { html, type Markup } from './markup.js';

/** Renders whether the conditions of `--fail-on` hold, with the measured values; `null` without conditions. */
export function renderConditions(conditions: JudgedCondition[]): Markup | null {
  if (conditions.length === 0) return null;
  const failed = conditions.filter(({ holds }) => holds === false).length;
  const unknown = conditions.filter(({ holds }) => holds === null).length;
  const title = failed > 0 ? 'Failed' : unknown > 0 ? 'Not judged' : 'Passed';
  const summary =
    failed > 0
      ? countConditions(failed, conditions.length, failed === 1 ? 'does not hold' : 'do not hold')
      : unknown > 0
        ? countConditions(unknown, conditions.length, 'cannot be judged')
        : conditions.length === 1
          ? 'the condition holds'
          : `all ${conditions.length} conditions hold`;
  const items = conditions.map(
    ({ condition, holds, measured }) =>
      html`<li>${chooseSign(holds)} <code>${condition}</code> ${describeOutcome(holds)}: ${measured}</li>`,
  );
  return html`<div class="${failed === 0 ? 'conditions' : 'conditions failed'}">
<p><strong>${title}</strong> ${summary}</p>
<ul>${items}</ul>
</div>`;
}

function countConditions(number: number, total: number, outcome: string): string {
  return total === 1 ? `the condition ${outcome}` : `${number} of ${total} conditions ${outcome}`;
}
