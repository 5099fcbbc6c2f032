import { html, type Markup } from './markup.js';

/** The style of a marker: a class of the style sheet, its tooltip, and its size. */
export interface MarkerStyle {
  kind?: string | null;
  title?: string | null;
  large?: boolean;
}

/** Draws a round point. `x` is in percent (`42%`) or, in a legend, in pixels. */
export function drawDot(
  x: string,
  y: number,
  { kind = null, title = null, large }: MarkerStyle,
): Markup {
  return html`<circle class="${joinClasses('point', kind)}" cx="${x}" cy="${y}" r="${large ? 6 : 4}">${renderTitle(title)}</circle>`;
}

/** Draws a square point, which differs from a round one without colours, too. */
export function drawSquare(
  x: string,
  y: number,
  { kind = null, title = null, large }: MarkerStyle,
): Markup {
  const half = large ? 6 : 4;
  return html`<rect class="${joinClasses('point', kind)}" x="${x}" y="${y}" width="${2 * half}" height="${2 * half}" transform="translate(-${half} -${half})">${renderTitle(title)}</rect>`;
}

/** Draws a vertical bar between two heights in pixels, at a position in percent. */
export function drawSpread(at: number, from: number, to: number): Markup {
  return html`<line class="spread" x1="${at}%" x2="${at}%" y1="${from}" y2="${to}"/>`;
}

function joinClasses(shape: string, kind: string | null): string {
  return kind === null ? shape : `${shape} ${kind}`;
}

function renderTitle(title: string | null): Markup | null {
  return title === null ? null : html`<title>${title}</title>`;
}
