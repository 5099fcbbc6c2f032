import { html, type Markup } from './markup.js';

/** How a marker looks beside its shape, by a class of the style sheet, and what it says when pointed at. */
export interface Look {
  kind?: string | null;
  title?: string | null;
  large?: boolean;
}

/** A round point. `x` is in percent, `42%`, or in pixels, as in a legend. */
export function dot(x: string, y: number, { kind = null, title = null, large }: Look): Markup {
  return html`<circle class="${classes('point', kind)}" cx="${x}" cy="${y}" r="${large ? 6 : 4}">${titleOf(title)}</circle>`;
}

/** A square point, to be told from a round one without its colour. */
export function square(x: string, y: number, { kind = null, title = null, large }: Look): Markup {
  const half = large ? 6 : 4;
  return html`<rect class="${classes('point', kind)}" x="${x}" y="${y}" width="${2 * half}" height="${2 * half}" transform="translate(-${half} -${half})">${titleOf(title)}</rect>`;
}

/** A vertical bar from one height to another, at a place in percent. */
export function spread(at: number, from: number, to: number): Markup {
  return html`<line class="spread" x1="${at}%" x2="${at}%" y1="${from}" y2="${to}"/>`;
}

function classes(shape: string, kind: string | null): string {
  return kind === null ? shape : `${shape} ${kind}`;
}

function titleOf(title: string | null): Markup | null {
  return title === null ? null : html`<title>${title}</title>`;
}
