// Numbers and tables as Markdown.

/** A table, with the first column to the left and the others to the right. */
export function formatTable(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, index) => (index === 0 ? '---' : '---:'));
  return [line(head), line(rule), ...rows.map(line)];
}

/** A whole number, with a thin gap between thousands. */
export function formatCount(value) {
  return Math.round(value).toLocaleString('en-US').replaceAll(',', ' ');
}

/** A median with its interval. */
export function formatInterval({ median, low, high }, digits = 2) {
  return `${median.toFixed(digits)} [${low.toFixed(digits)}..${high.toFixed(digits)}]`;
}

/** A share as a percentage. */
export function formatShare(value) {
  return `${(value * 100).toFixed(0)} %`;
}
