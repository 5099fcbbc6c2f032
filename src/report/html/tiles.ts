import { html, type Markup } from './markup.js';

/** The numbers to be seen first. */
export function renderTiles(shown: Markup[]): Markup {
  return html`<dl class="headline">
${shown}</dl>`;
}

/** One of them: its name, a value and its unit, and what it means in a few words. */
export function renderTile(name: string, value: string, unit: string, note: string): Markup {
  return html`<div><dt>${name}</dt><dd><strong>${value}</strong> ${unit}<small>${note}</small></dd></div>
`;
}

/** Value and unit of a printed quantity: `12.3 ms`. */
export function splitUnit(text: string): [value: string, unit: string] {
  const space = text.lastIndexOf(' ');
  return space < 0 ? [text, ''] : [text.slice(0, space), text.slice(space + 1)];
}
