import { html, type Markup } from '../markup.js';

/** A sign of a chart, drawn around (12, 6), and its meaning. */
export type LegendEntry = readonly [drawn: Markup, meaning: string];

/** Renders the legend of a chart; entries that are `false` are left out. */
export function renderLegend(entries: (LegendEntry | false)[]): Markup {
  const visible = entries.filter((sign) => sign !== false);
  return html`<ul class="legend">${visible.map(([drawn, meaning]) => html`<li><svg class="sign" width="24" height="12" aria-hidden="true">${drawn}</svg>${meaning}</li>`)}</ul>`;
}

/** Draws the sign of a line. */
export function drawLineSign(kind: string): Markup {
  return html`<line class="${kind}" x1="0" x2="24" y1="6" y2="6"/>`;
}

/** Draws the sign of an area. */
export function drawAreaSign(kind: string): Markup {
  return html`<rect class="${kind}" width="24" height="12"/>`;
}
