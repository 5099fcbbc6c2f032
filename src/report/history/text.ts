import type {
  HistoryFigure,
  HistoryPlan,
  HistoryPoint,
  HistoryResult,
} from '../../history/result.js';
import { replaceControls } from '../encoding.js';
import type { TextOptions } from '../load/text.js';
import { describePlan } from '../plan.js';
import { createSheet, formatList, formatParagraph, joinBlocks, type Sheet } from '../text/sheet.js';
import { formatMinute, listFigures, shortenCommit } from './words.js';

/** Width from which on there is room for the time of the day. */
const WIDTH_WITH_TIME = 80;

/** Width from which on there is room for intervals. */
const WIDTH_WITH_INTERVALS = 72;

/** Formats stored results over time as text, without a trailing line break: a table for each load. */
export function formatHistoryText(result: HistoryResult, options: TextOptions): string {
  const sheet = createSheet(options);
  return joinBlocks([
    ...result.plans.flatMap((plan) => [
      formatList(sheet, describePlan(plan.plan), 2, 'strong'),
      formatTable(plan, sheet),
    ]),
    result.skipped.flatMap(({ file, reason }) =>
      formatParagraph(sheet, `skipped: ${file} ${reason}`, 2, 'dim'),
    ),
  ]);
}

/** A column: its head, and its text for a point. */
type Column = readonly [head: string, format: (point: HistoryPoint) => string];

function formatTable(plan: HistoryPlan, sheet: Sheet): string[] {
  const columns = listColumns(plan, sheet.width);
  const rows = plan.points.map((point) =>
    columns.map(([, format]) => replaceControls(format(point))),
  );
  const heads = columns.map(([head]) => head);
  const widths = heads.map((_, at) =>
    Math.max(...[heads, ...rows].map((row) => row[at]?.length ?? 0)),
  );
  const toLine = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ');
  return [
    sheet.paint('dim', toLine(heads)),
    ...rows.map((cells, index) => {
      const isBound = plan.points[index]?.clientBound === true;
      return `${toLine(cells)}${isBound ? ` ${sheet.paint('bad', '!')}` : ''}`;
    }),
    ...(plan.points.some(({ clientBound }) => clientBound)
      ? formatParagraph(sheet, '! the load generator was the limit', 2, 'warning')
      : []),
  ];
}

function listColumns(plan: HistoryPlan, width: number): Column[] {
  const [throughput, p99] = listFigures(plan);
  const started = width >= WIDTH_WITH_TIME ? 16 : 10;
  const hasIntervals = width >= WIDTH_WITH_INTERVALS;
  const interval = (read: (point: HistoryPoint) => HistoryFigure | null): Column[] =>
    hasIntervals ? [['95 %', (point) => formatRelative(read(point))]] : [];
  return [
    ['started, UTC', ({ startedAt }) => formatMinute(startedAt).slice(0, started)],
    ...(plan.points.some(({ commit }) => commit !== null)
      ? [['commit', ({ commit }) => (commit === null ? '–' : shortenCommit(commit))] as Column]
      : []),
    ...(plan.points.some(({ runs }) => runs.length > 1)
      ? [['runs', ({ runs }) => String(runs.length)] as Column]
      : []),
    [throughput.head, (point) => throughput.cell(point.throughput.value)],
    ...interval((point) => point.throughput),
    [p99.head, ({ p99Ms }) => (p99Ms === null ? '–' : p99.cell(p99Ms.value))],
    ...interval((point) => point.p99Ms),
  ];
}

/** Formats an interval as the distances of its ends: `−1.2 +1.4 %`. */
function formatRelative(figure: HistoryFigure | null): string {
  if (!figure?.interval) return '–';
  const { value, interval } = figure;
  const [below, above] = [1 - interval.low / value, interval.high / value - 1].map(formatPercent);
  return `-${below} +${above} %`;
}

function formatPercent(share: number): string {
  const percent = share * 100;
  if (percent >= 999.5) return '>999';
  return percent < 9.95 ? percent.toFixed(1) : String(Math.round(percent));
}
