import { plural } from '../../format/units.js';
import type { LoadResult } from '../../load/result.js';
import {
  escapeMarkdown,
  formatCodeCell,
  formatItems,
  formatTable,
  joinParts,
} from '../markdown/markup.js';
import { describeClocks, describeGenerators, listGeneratorRows } from './rows.js';

/** Most generators in the table. */
const MAX_ROWS = 20;

/** Lists the generators of a merged result; empty for the result of one run. */
export function formatGeneratorTable(result: LoadResult): string {
  const { generators = [] } = result;
  if (generators.length === 0) return '';
  const listed = listGeneratorRows(result, MAX_ROWS);
  const hasVerdict = listed.some(({ verdict }) => verdict !== '');
  const rows = listed.map((row) => [
    formatCodeCell(row.name),
    ...[row.start, row.throughput, row.p50, row.p99, row.failed, row.busy],
    ...(hasVerdict ? [row.verdict === '' ? '' : `**${row.verdict}**`] : []),
  ]);
  const heads = ['generator', 'start', 'req/s', 'p50', 'p99', 'failed', 'busy'];
  if (hasVerdict) heads.push('verdict');
  const more = generators.length - rows.length;
  return joinParts([
    `${describeGenerators(result)}:`,
    formatTable(heads, rows),
    formatItems(describeClocks(listed).map(escapeMarkdown)),
    more > 0 ? `${plural(more, 'generator')} not shown.` : '',
  ]).trimEnd();
}
