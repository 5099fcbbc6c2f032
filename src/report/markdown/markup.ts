/** Escapes text, so that nothing in it is Markdown or HTML, and keeps it in one line. */
export function escapeMarkdown(text: string): string {
  return text
    .replace(/\s*[\r\n\u2028\u2029]\s*/g, ' ')
    .replace(/\p{Cc}/gu, '\u{fffd}')
    .replace(/[\\`*_[\]<>|~#&]/g, '\\$&');
}

/** Formats text as code. */
export function formatCode(text: string): string {
  const line = text.replace(/[\r\n]+/g, ' ').replace(/\p{Cc}/gu, '\u{fffd}');
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  const space = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${fence}${space}${line}${space}${fence}`;
}

/** Formats text as code in a cell: a table takes `\\|` for `|`, even in code. */
export function formatCodeCell(text: string): string {
  return formatCode(text).replaceAll('|', '\\|');
}

/** Formats a table whose columns after the first hold numbers; cells are Markdown. Empty without a row. */
export function formatTable(heads: string[], rows: string[][]): string {
  if (rows.length === 0) return '';
  const rule = heads.map((_, index) => (index === 0 ? '---' : '---:'));
  return [heads, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Formats a list, an item for each line of Markdown. Empty without a line. */
export function formatItems(lines: string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}

/** Joins the parts of a document that are not empty, with a line break at its end. */
export function joinParts(parts: string[]): string {
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}
