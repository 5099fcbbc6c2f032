import type { JudgedCondition } from '../conditions.js';
import { html, type Markup } from './markup.js';

/** Renders whether the conditions of `--fail-on` hold, with the measured values; `null` without conditions. */
export function renderConditions(conditions: JudgedCondition[]): Markup | null {
  if (conditions.length === 0) return null;
  const failed = conditions.filter(({ holds }) => !holds).length;
  const title = failed === 0 ? 'Passed' : 'Failed';
  const summary =
    failed === 0
      ? `all ${conditions.length} conditions hold`
      : `${failed} of ${conditions.length} conditions do not hold`;
  const items = conditions.map(
    ({ condition, holds, measured }) =>
      html`<li>${holds ? '✓' : '✗'} <code>${condition}</code> ${holds ? 'holds' : 'does not hold'}: ${measured}</li>`,
  );
  return html`<div class="${failed === 0 ? 'conditions' : 'conditions failed'}">
<p><strong>${title}</strong> ${summary}</p>
<ul>${items}</ul>
</div>`;
}
