import { disarmLines, replaceControls } from '../encoding.js';

/** A cell of a table: an empty one has no value. */
export type Cell = string | number | boolean | null;

/** Column of a table: its name, and its value in each row. */
export type Column<Row> = readonly [name: string, read: (row: Row) => Cell];

/** Formats rows as CSV (RFC 4180, but lines end in LF), with a line of column names. */
export function formatCsv<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map(([name]) => name),
    ...rows.map((row) => columns.map(([, read]) => formatCell(read(row)))),
  ];
  return lines.map((cells) => `${cells.map(quote).join(',')}\n`).join('');
}

function formatCell(cell: Cell): string {
  if (typeof cell === 'string') return disarm(cell);
  if (typeof cell === 'number' && !Number.isFinite(cell)) return '';
  return cell === null ? '' : String(cell);
}

/**
 * Puts an apostrophe before text that a spreadsheet would run as a formula, full-width signs and blanks before it included.
 * A cell is one line.
 */
function disarm(text: string): string {
  const isFormula = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/.test(text);
  return disarmLines(replaceControls(isFormula ? `'${text}` : text));
}

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
