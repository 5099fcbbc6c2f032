import { height } from './chart.js';
import { html, type Markup } from './markup.js';

/** A place in a chart: percent from the left, pixels from the top. */
export type Place = readonly [x: number, y: number];

/** A line from place to place, by a class of the style sheet. */
export function polyline(kind: string, places: readonly Place[]): Markup | null {
  return places.length < 2
    ? null
    : plane(html`<polyline class="${kind}" points="${text(places)}"/>`);
}

/** The area between an upper and a lower line. */
export function areaBetween(
  kind: string,
  upper: readonly Place[],
  lower: readonly Place[],
): Markup | null {
  if (upper.length < 2) return null;
  const around = [...upper, ...lower.toReversed()];
  return plane(html`<polygon class="${kind}" points="${text(around)}"/>`);
}

/** Coordinates of lines are plain numbers: a system of their own, as wide as the chart and 100 units across. */
function plane(content: Markup): Markup {
  return html`<svg class="plane" height="${height}" viewBox="0 0 100 ${height}" preserveAspectRatio="none">${content}</svg>
`;
}

function text(places: readonly Place[]): string {
  return places.map(([x, y]) => `${x},${y}`).join(' ');
}
