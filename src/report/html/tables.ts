import { type Child, html, type Markup } from './markup.js';

/** Renders a table of numbers whose first column names the rows. Without `columns` it has no head. */
export function renderTable(caption: string, columns: string[], rows: Child[][]): Markup | null {
  return rows.length > 0 ? renderElement('data', caption, columns, rows) : null;
}

/** Renders a table with text in the last column. */
export function renderTextTable(
  caption: string,
  columns: string[],
  rows: Child[][],
): Markup | null {
  return rows.length > 0 ? renderElement('data text', caption, columns, rows) : null;
}

function renderElement(kind: string, caption: string, columns: string[], rows: Child[][]): Markup {
  const head = html`<thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>`;
  const body = rows.map(
    ([name = '', ...cells]) =>
      html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>
`,
  );
  return html`<table class="${kind}">
<caption>${caption}</caption>
${columns.length > 0 ? head : null}
<tbody>
${body}</tbody>
</table>`;
}
