import { html, type Markup } from './markup.js';

/** Renders the most important numbers as tiles. */
export function renderTiles(tiles: Markup[]): Markup {
  return html`<dl class="headline">
${tiles}</dl>`;
}

/** Renders a tile: its name, value and unit, and a short note. */
export function renderTile(name: string, value: string, unit: string, note: string): Markup {
  return html`<div><dt>${name}</dt><dd><strong>${value}</strong> ${unit}<small>${note}</small></dd></div>
`;
}

/** Splits a formatted quantity such as `12.3 ms` into value and unit. */
export function splitUnit(text: string): [value: string, unit: string] {
  const space = text.lastIndexOf(' ');
  return space < 0 ? [text, ''] : [text.slice(0, space), text.slice(space + 1)];
}
