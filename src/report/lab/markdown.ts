import type { LabResult, LabTable, StudyResult } from '../../lab/result.js';
import { escapeMarkdown, formatItems, formatTable, joinParts } from '../markdown/markup.js';
import { formatValue } from './format-value.js';

/** Renders repeated studies as Markdown. */
export function renderLabMarkdown({ studies, failed }: LabResult): string {
  return joinParts([
    ...studies.flatMap(formatStudy),
    formatItems(failed.map((one) => escapeMarkdown(`Not repeated: ${one.study}: ${one.reason}`))),
  ]);
}

function formatStudy({ title, question, claims, tables }: StudyResult): string[] {
  const lines = claims.map(({ text, held }) => {
    const word = held === null ? 'not decided' : held ? 'holds' : 'does not hold';
    return `${word}: ${escapeMarkdown(text)}`;
  });
  return [
    `### ${escapeMarkdown(title)}`,
    escapeMarkdown(question),
    formatItems(lines),
    ...tables.flatMap((table) => [`**${escapeMarkdown(table.title)}**`, formatFigures(table)]),
  ];
}

function formatFigures({ rowsAre, columns, rows }: LabTable): string {
  return formatTable(
    [rowsAre, ...columns.map(({ name, from }) => `${from}: ${name}`)].map(escapeMarkdown),
    rows.map(({ name, cells }) => [
      escapeMarkdown(name),
      ...columns.map(({ unit }, index) => escapeMarkdown(formatValue(cells[index] ?? null, unit))),
    ]),
  );
}
