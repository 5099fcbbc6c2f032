import { plural } from '../../format/units.js';
import type { LoadResult } from '../../load/result.js';
import { cutMiddle } from '../text/cut-name.js';
import { formatParagraph, type Sheet } from '../text/sheet.js';
import {
  describeClocks,
  describeGenerators,
  type GeneratorRow,
  listGeneratorRows,
} from './rows.js';

/** Most generators on a terminal; JSON and page contain all. */
const MAX_ROWS = 12;

const COLUMNS: readonly [head: string, width: number, cell: (row: GeneratorRow) => string][] = [
  ['start', 10, ({ start }) => start],
  ['req/s', 9, ({ throughput }) => throughput],
  ['p50', 10, ({ p50 }) => p50],
  ['p99', 10, ({ p99 }) => p99],
  ['failed', 8, ({ failed }) => failed],
  ['busy', 7, ({ busy }) => busy],
];

/** Formats the generators of a merged result as a table; empty for the result of one run. */
export function formatGenerators(result: LoadResult, sheet: Sheet): string[] {
  const { generators = [] } = result;
  if (generators.length === 0) return [];
  const rows = listGeneratorRows(result, MAX_ROWS);
  const hasServer = rows.some(({ generator }) => generator.server !== undefined);
  const serverCpu = ['server CPU', 12, (row: GeneratorRow) => row.serverCpu] as const;
  const columns = [...COLUMNS, ...(hasServer ? [serverCpu] : [])];
  const nameWidth = sheet.width - columns.reduce((sum, [, width]) => sum + width, 0);
  const head = columns.map(([name, width]) => name.padStart(width)).join('');
  const rest = generators.length - rows.length;
  return [
    sheet.paint('strong', describeGenerators(result)),
    sheet.paint('dim', `${'generator'.padEnd(nameWidth)}${head}`),
    ...rows.map((row) => {
      const cells = columns.map(([, width, cell]) => cell(row).padStart(width)).join('');
      const line = `${cutMiddle(row.name, nameWidth - 1).padEnd(nameWidth)}${cells}`;
      return row.verdict === '' ? line : sheet.paint('bad', line);
    }),
    ...describeClocks(rows).flatMap((line) => formatParagraph(sheet, line, 2)),
    ...(rest > 0 ? [sheet.paint('dim', `and ${plural(rest, 'generator')} more`)] : []),
  ];
}
