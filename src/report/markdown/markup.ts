import { replaceControls } from '../encoding.js';

/** Zero-width space: what it separates is no mention and no reference. */
const BREAK = '\u{200b}';

/**
 * Escapes text, so that nothing in it is Markdown, HTML, a formula, a mention or a reference to an issue, and keeps it in one
 * line.
 */
export function escapeMarkdown(text: string): string {
  return joinLines(text)
    .replace(/[\\`*_[\]<>|~#&$]/g, '\\$&')
    .replace(/@(?=[\w-])/g, `@${BREAK}`)
    .replace(/#(?=\d)/g, `#${BREAK}`)
    .replace(/^(\s*)([-+=:])(?=[\s=:-]|$)/, '$1\\$2')
    .replace(/^(\s*\d+)([.)])(?=\s|$)/, '$1\\$2');
}

/** Formats text as code. What commands a CI runner is written as HTML. */
export function formatCode(text: string): string {
  const line = joinLines(text);
  if (/##|^\s*::/.test(line)) return formatHtmlCode(line);
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  const space = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${fence}${space}${line}${space}${fence}`;
}

/** Formats text as code in a cell: a table takes `\\|` for `|`, even in code, but not after another backslash. */
export function formatCodeCell(text: string): string {
  if (/\\.*\||\|.*\\/s.test(text)) return formatHtmlCode(joinLines(text));
  return formatCode(text).replaceAll('|', '\\|');
}

function formatHtmlCode(line: string): string {
  const toReference = (character: string) => `&#${character.codePointAt(0)};`;
  return `<code>${line.replace(/[^\p{L}\p{N} /.,_-]/gu, toReference)}</code>`;
}

/** Joins lines, and replaces what controls. */
function joinLines(text: string): string {
  return replaceControls(text.replace(/\s*[\r\n\u2028\u2029]\s*/g, ' '));
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
