import { html, type Markup } from '../markup.js';
import { CHART_HEIGHT } from './chart.js';

/** A position in a chart: percent from the left, pixels from the top. */
export type ChartPoint = readonly [x: number, y: number];

/** Draws a line through points; `kind` is a class of the style sheet. */
export function drawPolyline(kind: string, points: readonly ChartPoint[]): Markup | null {
  return points.length < 2
    ? null
    : drawPlane(html`<polyline class="${kind}" points="${formatPoints(points)}"/>`);
}

/** Draws the area between an upper and a lower line. */
export function drawArea(
  kind: string,
  upper: readonly ChartPoint[],
  lower: readonly ChartPoint[],
): Markup | null {
  if (upper.length < 2) return null;
  const around = [...upper, ...lower.toReversed()];
  return drawPlane(html`<polygon class="${kind}" points="${formatPoints(around)}"/>`);
}

/** Draws content in a coordinate system of 100 units across the chart, since points of lines cannot be in percent. */
function drawPlane(content: Markup): Markup {
  return html`<svg class="plane" height="${CHART_HEIGHT}" viewBox="0 0 100 ${CHART_HEIGHT}" preserveAspectRatio="none">${content}</svg>
`;
}

function formatPoints(points: readonly ChartPoint[]): string {
  return points.map(([x, y]) => `${x},${y}`).join(' ');
}
