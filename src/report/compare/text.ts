import type {
  ComparisonResult,
  ComparisonRow,
  ComparisonSideName,
  ComparisonVerdict,
} from '../../compare/result.js';
import type { TextOptions } from '../load/text.js';
import { describePlan } from '../plan.js';
import type { Ink } from '../text/paint.js';
import {
  createSheet,
  formatField,
  formatList,
  formatParagraph,
  joinBlocks,
  type Sheet,
} from '../text/sheet.js';
import { formatCells } from './metrics.js';
import { isShortLabel, listOverallRows, selectNames } from './names.js';
import { describeClientBound, describeRuns, describeVerdict, listGrounds } from './sentences.js';

const INKS: Record<ComparisonVerdict, Ink> = {
  better: 'good',
  worse: 'bad',
  'no-difference': 'strong',
  'cannot-tell': 'warning',
};

/** Renders a comparison as text, without a trailing line break. */
export function formatComparisonText(result: ComparisonResult, options: TextOptions): string {
  const sheet = createSheet(options);
  const blocks = [
    [
      ...formatParagraph(sheet, describeVerdict(result), 2, INKS[result.verdict.word]),
      ...formatSide(result, 'a', sheet),
      ...formatSide(result, 'b', sheet),
    ],
    [
      ...formatList(sheet, describePlan(result.plan), 2, 'dim'),
      ...options.notes.flatMap((note) => formatParagraph(sheet, `note: ${note}`, 6)),
    ],
    formatTable(result, sheet),
    formatNames(result, sheet),
    formatGrounds(result, sheet),
    formatWarnings(result, sheet),
  ];
  return joinBlocks(blocks);
}

/** Formats the label of a side, unless it is short enough to be part of the verdict. */
function formatSide({ sides }: ComparisonResult, side: ComparisonSideName, sheet: Sheet): string[] {
  if (isShortLabel(sides[side].label)) return [];
  return formatParagraph(sheet, `${side.toUpperCase()}: ${sides[side].label}`, 3);
}

const NAME_WIDTH = 17;
const FIGURE_WIDTH = 10;
const RATIO_WIDTH = 8;
const INTERVAL_WIDTH = 18;
const FULL_WIDTH = NAME_WIDTH + 2 * FIGURE_WIDTH + RATIO_WIDTH + INTERVAL_WIDTH + 15;

function formatTable(result: ComparisonResult, sheet: Sheet): string[] {
  const rows = listOverallRows(result);
  if (rows.length === 0) return [];
  const heads = ['A', 'B'].map((side) => side.padStart(FIGURE_WIDTH)).join('');
  const interval = hasIntervals(sheet) ? 'interval'.padStart(INTERVAL_WIDTH) : '';
  const head = `${' '.repeat(NAME_WIDTH)}${heads}${'B / A'.padStart(RATIO_WIDTH)}${interval}`;
  return [sheet.paint('dim', head), ...rows.map((row) => formatRow(row, sheet, ''))];
}

function formatRow(row: ComparisonRow, sheet: Sheet, indent: string): string {
  const { name, figures, ratio, interval, word } = formatCells(row);
  const head = sheet.paint('dim', `${indent}${name}`.padEnd(NAME_WIDTH));
  const sides = figures.map((figure) => figure.padStart(FIGURE_WIDTH)).join('');
  const range = hasIntervals(sheet) ? interval.padStart(INTERVAL_WIDTH) : '';
  const ink = row.verdict === 'no-difference' ? 'dim' : INKS[row.verdict];
  return `${head}${sides}${ratio.padStart(RATIO_WIDTH)}${range}  ${sheet.paint(ink, word)}`;
}

/** Whether lines have space for the intervals. */
function hasIntervals({ width }: Sheet): boolean {
  return width >= FULL_WIDTH;
}

function formatNames(result: ComparisonResult, sheet: Sheet): string[] {
  const { shown, rest } = selectNames(result);
  return [
    ...shown.flatMap(({ name, rows }) => [
      ...formatParagraph(sheet, cutText(name, sheet.width), 0),
      ...rows.map((row) => formatRow(row, sheet, '  ')),
    ]),
    ...(rest === null ? [] : formatParagraph(sheet, `${rest} (all: --html, --csv)`, 2, 'dim')),
  ];
}

function cutText(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** Formats what the verdict rests on: runs, confidence, the stack's share, differences of the sides. */
function formatGrounds(result: ComparisonResult, sheet: Sheet): string[] {
  return [
    ...formatField(sheet, 'runs', describeRuns(result)),
    ...listGrounds(result).flatMap(([label, sentence]) => formatField(sheet, label, sentence)),
    ...result.differences.flatMap((difference, index) =>
      formatField(sheet, index === 0 ? 'difference' : '', difference, 'warning'),
    ),
  ];
}

function formatWarnings(result: ComparisonResult, sheet: Sheet): string[] {
  const bound = describeClientBound(result);
  return [
    ...result.warnings
      .filter(({ id }) => id !== 'client-bound')
      .flatMap(({ message }) => formatParagraph(sheet, `! ${message}`, 2, 'warning')),
    ...(bound === null ? [] : formatParagraph(sheet, bound, 2, 'alarm')),
  ];
}
