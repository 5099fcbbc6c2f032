import { replaceControls } from '../encoding.js';
import { createPainter, type Ink, type Paint } from './paint.js';

/** Width and colors of the text report. A line has at most `width` characters, not counting colors. */
export interface Sheet {
  width: number;
  paint: Paint;
}

/** Creates a sheet; lines are at least 60 characters wide. */
export function createSheet({ color, width }: { color: boolean; width: number }): Sheet {
  return { width: Math.max(60, width), paint: createPainter(color) };
}

/** Joins blocks of lines, separated by empty lines; empty blocks are left out. */
export function joinBlocks(blocks: string[][]): string {
  return blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n');
}

/** Width of labels: the column at which values start. */
const LABEL_WIDTH = 13;

/** Computes the width of values. */
export function computeValueWidth(sheet: Sheet): number {
  return sheet.width - LABEL_WIDTH;
}

/** Formats a label and its value, a list separated by commas that may take several lines. */
export function formatField(sheet: Sheet, label: string, value: string, ink?: Ink): string[] {
  return wrap(value, computeValueWidth(sheet), ', ').map((line, index) => {
    const isLong = index === 0 && label.length >= LABEL_WIDTH;
    const name = isLong ? `${label} ` : (index === 0 ? label : '').padEnd(LABEL_WIDTH);
    return sheet.paint('dim', name) + (ink ? sheet.paint(ink, line) : line);
  });
}

/** Wraps a paragraph; further lines are indented. */
export function formatParagraph(sheet: Sheet, text: string, indent: number, ink?: Ink): string[] {
  return indentFurtherLines(sheet, wrap(text, sheet.width - indent, ' '), indent, ink);
}

/** Wraps a paragraph whose first line is indented; further lines are indented by two more. */
export function formatIndented(sheet: Sheet, text: string, ink?: Ink, indent = 2): string[] {
  const [first = '', ...others] = formatParagraph(sheet, text, indent + 2);
  const lines = [`${' '.repeat(indent)}${first}`, ...others];
  return ink ? lines.map((line) => sheet.paint(ink, line)) : lines;
}

/** Wraps a list separated by commas; further lines are indented. */
export function formatList(sheet: Sheet, text: string, indent: number, ink?: Ink): string[] {
  return indentFurtherLines(sheet, wrap(text, sheet.width - indent, ', '), indent, ink);
}

function indentFurtherLines(sheet: Sheet, lines: string[], indent: number, ink?: Ink): string[] {
  return lines.map((line, index) => {
    const padded = index === 0 ? line : ' '.repeat(indent) + line;
    return ink ? sheet.paint(ink, padded) : padded;
  });
}

/** Joins two blocks next to each other if they fit, otherwise one below the other. */
export function joinColumns(sheet: Sheet, left: string[], right: string[], gap: number): string[] {
  const leftWidth = Math.max(0, ...left.map(measureLength));
  const rightWidth = Math.max(0, ...right.map(measureLength));
  if (right.length === 0) return left;
  if (leftWidth + gap + rightWidth > sheet.width) return [...left, '', ...right];
  return Array.from({ length: Math.max(left.length, right.length) }, (_, index) => {
    const start = left[index] ?? '';
    const padding = ' '.repeat(leftWidth + gap - measureLength(start));
    return `${start}${padding}${right[index] ?? ''}`.trimEnd();
  });
}

/** Wraps text after `separator` in the second half of a line, else at a space, else anywhere. */
function wrap(text: string, width: number, separator: string): string[] {
  const lines = [];
  let rest = replaceControls(text);
  while (rest.length > width) {
    const end = findBreak(rest, width, separator);
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
}

function findBreak(text: string, width: number, separator: string): number {
  const visible = separator.trimEnd().length;
  const end = text.lastIndexOf(separator, width - visible);
  if (end >= width / 2) return end + visible;
  const space = text.lastIndexOf(' ', width);
  return space > 0 ? space : width;
}

function measureLength(line: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences of paint.ts
  return line.replace(/\x1b\[[0-9;]*m/g, '').length;
}
