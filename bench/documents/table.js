// Numbers and tables as Markdown.

/** Formats a table; the first column is left-aligned, the others are right-aligned. */
export function formatTable(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, index) => (index === 0 ? '---' : '---:'));
  return [line(head), line(rule), ...rows.map(line)];
}

/** Formats a table with a row for each name: each column, `[title, cell]`, gets the runs of the row and its name. */
export function formatRuns(what, columns, names, runs) {
  const rows = names.map((row) => {
    const own = runs.filter((one) => one.row === row);
    return [row, ...columns.map(([, cell]) => cell(own, row))];
  });
  return formatTable([what, ...columns.map(([title]) => title)], rows);
}

/** Formats a whole number with narrow spaces between thousands. */
export function formatCount(value) {
  return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ');
}

/** Formats a number with three digits, and as a whole number from a thousand on. */
export function formatThreeDigits(value) {
  return value < 1000 ? value.toPrecision(3) : formatCount(value);
}

/** Formats a median with its interval. */
export function formatInterval({ median, low, high }, digits = 2) {
  return `${median.toFixed(digits)} [${low.toFixed(digits)}..${high.toFixed(digits)}]`;
}

/** Formats a share as a percentage. */
export function formatShare(value) {
  return `${(value * 100).toFixed(0)} %`;
}
