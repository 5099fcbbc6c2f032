import { duration, rate } from '../../format/units.js';
import type { LabCause, LabClaim, LabResult, LabTable, StudyResult } from '../../lab/result.js';
import { STATUS } from '../explain/status.js';
import type { TextOptions } from '../load/text.js';
import {
  createSheet,
  formatIndented,
  formatParagraph,
  joinBlocks,
  type Sheet,
} from '../text/sheet.js';
import { formatValue } from './format-value.js';

/** Formats repeated studies as text, without a trailing line break. */
export function formatLabText(result: LabResult, options: Omit<TextOptions, 'notes'>): string {
  const sheet = createSheet(options);
  const { cpu, cores, memoryGb, node, system } = result.machine;
  const blocks = [
    formatParagraph(
      sheet,
      `${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, Node ${node}`,
      2,
      'dim',
    ),
    ...result.studies.flatMap((study) => formatStudy(study, sheet)),
    result.failed.map(({ study, reason }) =>
      sheet.paint('warning', `Not repeated: ${study}: ${reason}`),
    ),
    result.interrupted
      ? [sheet.paint('warning', 'Interrupted: incomplete studies are left out.')]
      : [],
  ];
  return joinBlocks(blocks);
}

function formatStudy(study: StudyResult, sheet: Sheet): string[][] {
  const { title, question, original, tables, causes, changes, claims, setup, missing } = study;
  return [
    [
      sheet.paint('strong', title.toUpperCase()),
      ...formatIndented(sheet, question, 'strong'),
      ...formatIndented(sheet, `then: ${original}`, 'dim'),
      ...formatIndented(
        sheet,
        `now: repeated in ${duration(Math.round(study.durationMs / 1000) * 1000)}`,
        'dim',
      ),
    ],
    ...tables.map((table) => formatTable(table, sheet)),
    ...causes.map((cause) => formatCause(cause, sheet)),
    formatPart(sheet, 'what Millrace changes', changes),
    formatClaims(claims, sheet),
    formatPart(sheet, 'not measured', missing),
    formatPart(sheet, 'set-up', setup),
  ];
}

/** Formats a table; the headings of its columns begin with `then` or `now`. */
function formatTable({ title, rowsAre, columns, rows }: LabTable, sheet: Sheet): string[] {
  const cells = rows.map(({ cells: values }) =>
    columns.map(({ unit }, index) => formatValue(values[index] ?? null, unit)),
  );
  const first = Math.max(rowsAre.length, ...rows.map(({ name }) => name.length));
  const heads = columns.map(({ name, from }) => `${from}: ${name}`);
  const widths = columns.map((_, index) =>
    Math.max(
      ...cells.map((row) => row[index]?.length ?? 0),
      measureLongestWord(heads[index] ?? ''),
    ),
  );
  const wrappedHeads = heads.map((head, index) => wrapWords(head, widths[index] ?? 0));
  const height = Math.max(...wrappedHeads.map(({ length }) => length));
  const headLines = Array.from({ length: height }, (_, line) => {
    const words = wrappedHeads.map((lines, index) =>
      (lines[line - (height - lines.length)] ?? '').padStart(widths[index] ?? 0),
    );
    const name = line === height - 1 ? rowsAre : '';
    return sheet.paint('dim', `  ${name.padEnd(first)}  ${words.join('  ')}`.trimEnd());
  });
  const lines = rows.map(({ name }, row) => {
    const values = columns.map(({ from }, index) => {
      const text = (cells[row]?.[index] ?? '').padStart(widths[index] ?? 0);
      return from === 'then' ? sheet.paint('dim', text) : text;
    });
    return `  ${name.padEnd(first)}  ${values.join('  ')}`;
  });
  return [sheet.paint('dim', title), ...headLines, ...lines];
}

function measureLongestWord(text: string): number {
  return Math.max(...text.split(' ').map(({ length }) => length));
}

function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines;
}

function formatCause(cause: LabCause, sheet: Sheet): string[] {
  const { limit, status, sentence, arithmetic, remedy, command } = cause;
  const predicted = remedy?.predictedThroughput;
  const remedyLine = remedy
    ? [
        `remedy: ${remedy.change}${predicted ? `; predicted ${rate(predicted.low)} to ${rate(predicted.high)} req/s` : ''}`,
      ]
    : [];
  return [
    sheet.paint('dim', 'cause, found by explain'),
    ...formatIndented(
      sheet,
      `${STATUS[status].word}${limit ? `  ${limit}` : ''}: ${sentence}`,
      'strong',
    ),
    ...[...arithmetic, ...remedyLine].flatMap((line) => formatIndented(sheet, line)),
    ...formatIndented(sheet, command, 'dim'),
  ];
}

function formatClaims(claims: LabClaim[], sheet: Sheet): string[] {
  if (claims.length === 0) return [];
  const lines = claims.flatMap(({ text, held }) => {
    const [word, ink] = CLAIM_WORDS[String(held) as keyof typeof CLAIM_WORDS];
    return formatIndented(sheet, `${word}  ${text}`, ink);
  });
  return [sheet.paint('dim', 'claims'), ...lines];
}

const CLAIM_WORDS = {
  true: ['yes', 'good'],
  false: ['NO ', 'bad'],
  null: ['?  ', 'warning'],
} as const;

function formatPart(sheet: Sheet, heading: string, lines: string[]): string[] {
  if (lines.length === 0) return [];
  return [sheet.paint('dim', heading), ...lines.flatMap((line) => formatIndented(sheet, line))];
}
