import type { Ink, Paint } from './paint.js';

/** What every part of the text report is written on. A line is at most `width` characters, its colours not counted. */
export interface Sheet {
  width: number;
  paint: Paint;
}

/** Column at which the values start. */
const LABEL_WIDTH = 13;

/** Room for a value beside its label. */
export function computeValueWidth(sheet: Sheet): number {
  return sheet.width - LABEL_WIDTH;
}

/** A label and its value, a list that continues on further lines under itself. */
export function formatField(sheet: Sheet, label: string, value: string, ink?: Ink): string[] {
  return wrap(value, computeValueWidth(sheet), ', ').map((line, index) => {
    const name = (index === 0 ? label : '').padEnd(LABEL_WIDTH);
    return sheet.paint('dim', name) + (ink ? sheet.paint(ink, line) : line);
  });
}

/** A paragraph whose further lines are indented. */
export function formatParagraph(sheet: Sheet, text: string, indent: number, ink?: Ink): string[] {
  return indentFurtherLines(sheet, wrap(text, sheet.width - indent, ' '), indent, ink);
}

/** A list, separated by commas, whose further lines are indented. */
export function formatList(sheet: Sheet, text: string, indent: number, ink?: Ink): string[] {
  return indentFurtherLines(sheet, wrap(text, sheet.width - indent, ', '), indent, ink);
}

function indentFurtherLines(sheet: Sheet, lines: string[], indent: number, ink?: Ink): string[] {
  return lines.map((line, index) => {
    const padded = index === 0 ? line : ' '.repeat(indent) + line;
    return ink ? sheet.paint(ink, padded) : padded;
  });
}

/** Two blocks next to each other if they fit, else one below the other. */
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

/** Breaks after `separator` in the second half of a line, else at a space, else (a long word) anywhere. */
function wrap(text: string, width: number, separator: string): string[] {
  const lines = [];
  let rest = replaceControlCharacters(text);
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

/** Text from outside must not steer the terminal: control characters are shown as a replacement character. */
function replaceControlCharacters(text: string): string {
  return text.replace(/\p{Cc}/gu, '\u{fffd}');
}

function measureLength(line: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences of paint.ts
  return line.replace(/\x1b\[[0-9;]*m/g, '').length;
}
