import { html, type Markup } from './markup.js';

/** How a marker looks beside its shape, by a class of the style sheet, and what it says when pointed at. */
export interface MarkerStyle {
  kind?: string | null;
  title?: string | null;
  large?: boolean;
}

/** A round point. `x` is in percent, `42%`, or in pixels, as in a legend. */
export function drawDot(
  x: string,
  y: number,
  { kind = null, title = null, large }: MarkerStyle,
): Markup {
  return html`<circle class="${joinClasses('point', kind)}" cx="${x}" cy="${y}" r="${large ? 6 : 4}">${renderTitle(title)}</circle>`;
}

/** A square point, to be told from a round one without its colour. */
export function drawSquare(
  x: string,
  y: number,
  { kind = null, title = null, large }: MarkerStyle,
): Markup {
  const half = large ? 6 : 4;
  return html`<rect class="${joinClasses('point', kind)}" x="${x}" y="${y}" width="${2 * half}" height="${2 * half}" transform="translate(-${half} -${half})">${renderTitle(title)}</rect>`;
}

/** A vertical bar from one height to another, at a place in percent. */
export function drawSpread(at: number, from: number, to: number): Markup {
  return html`<line class="spread" x1="${at}%" x2="${at}%" y1="${from}" y2="${to}"/>`;
}

function joinClasses(shape: string, kind: string | null): string {
  return kind === null ? shape : `${shape} ${kind}`;
}

function renderTitle(title: string | null): Markup | null {
  return title === null ? null : html`<title>${title}</title>`;
}
