import { html, type Markup } from '../markup.js';

/** The style of a marker: a class of the style sheet, its tooltip, and its size. */
export interface MarkerStyle {
  kind?: string | null;
  title?: string | null;
  large?: boolean;
  small?: boolean;
}

/** Draws a round point. `x` is in percent (`42%`) or, in a legend, in pixels. */
export function drawDot(
  x: string,
  y: number,
  { kind = null, title = null, large, small }: MarkerStyle,
): Markup {
  return html`<circle class="${joinClasses('point', kind)}" cx="${x}" cy="${y}" r="${large ? 6 : small ? 2 : 4}">${renderTitle(title)}</circle>`;
}

/** Draws a square point, which differs from a round one without colors, too. */
export function drawSquare(
  x: string,
  y: number,
  { kind = null, title = null, large }: MarkerStyle,
): Markup {
  const half = large ? 6 : 4;
  return html`<rect class="${joinClasses('point', kind)}" x="${x}" y="${y}" width="${2 * half}" height="${2 * half}" transform="translate(-${half} -${half})">${renderTitle(title)}</rect>`;
}

/** Draws a measured value with a vertical bar for its interval. The position is in percent, heights are in pixels. */
export function drawMeasurement(
  at: number,
  { mean, low, high }: { mean: number; low: number; high: number },
  style: MarkerStyle,
): Markup {
  const bar = html`<line class="spread" x1="${at}%" x2="${at}%" y1="${low}" y2="${high}"/>`;
  return html`${bar}${drawDot(`${at}%`, mean, style)}
`;
}

function joinClasses(shape: string, kind: string | null): string {
  return kind === null ? shape : `${shape} ${kind}`;
}

function renderTitle(title: string | null): Markup | null {
  return title === null ? null : html`<title>${title}</title>`;
}
