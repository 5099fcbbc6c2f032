import type { ComparisonResult, ComparisonRow, ComparisonSideName } from '../../compare/result.js';
import { formatConditions, formatWarnings } from '../markdown/conditions.js';
import {
  escapeMarkdown,
  formatCode,
  formatCodeCell,
  formatItems,
  formatTable,
  joinParts,
} from '../markdown/markup.js';
import { describePlan } from '../plan.js';
import { listComparisonConditions } from './conditions.js';
import { formatCells, VERDICT_WORDS } from './metrics.js';
import { isShortLabel, listOverallRows, selectNames } from './names.js';
import { describeClientBound, describeRuns, describeVerdict, listGrounds } from './sentences.js';

/** Renders a comparison as Markdown for a pull request. */
export function renderComparisonMarkdown(result: ComparisonResult): string {
  const { shown, rest } = selectNames(result);
  const bound = describeClientBound(result);
  return joinParts([
    `### Comparison: ${VERDICT_WORDS[result.verdict.word]}`,
    `**${escapeMarkdown(describeVerdict(result))}**`,
    formatItems((['a', 'b'] as const).flatMap((side) => formatSide(result, side))),
    formatConditions(listComparisonConditions(result)),
    formatTable(
      ['', 'A', 'B', 'B / A', 'interval', ''],
      listOverallRows(result).map((row) => formatRow(row, [])),
    ),
    formatTable(
      ['request', '', 'A', 'B', 'B / A', 'interval', ''],
      shown.flatMap(({ name, rows }) =>
        rows.map((row, index) => formatRow(row, [index === 0 ? formatCodeCell(name) : ''])),
      ),
    ),
    rest === null ? '' : escapeMarkdown(rest),
    formatItems(describeBasis(result).map(escapeMarkdown)),
    formatWarnings([
      ...(bound === null ? [] : [bound]),
      ...result.differences.map((difference) => `the sides differ: ${difference}`),
      ...result.warnings.filter(({ id }) => id !== 'client-bound').map(({ message }) => message),
    ]),
  ]);
}

function formatSide({ sides }: ComparisonResult, side: ComparisonSideName): string[] {
  const { label } = sides[side];
  return isShortLabel(label) ? [] : [`${side.toUpperCase()}: ${formatCode(label)}`];
}

function formatRow(row: ComparisonRow, before: string[]): string[] {
  const { name, figures, ratio, interval, word } = formatCells(row);
  const isDecided = row.verdict === 'better' || row.verdict === 'worse';
  return [...before, name, ...figures, ratio, interval, isDecided ? `**${word}**` : word];
}

function describeBasis(result: ComparisonResult): string[] {
  return [
    describePlan(result.plan),
    `runs: ${describeRuns(result)}`,
    ...listGrounds(result).map(([label, sentence]) => `${label}: ${sentence}`),
  ];
}
