import type { CapacityResult } from '../../capacity/result.js';
import type { TextOptions } from '../load/text.js';
import { createSheet, formatList, formatParagraph, joinBlocks } from '../text/sheet.js';
import { formatSearch } from './search.js';
import { describeSettings } from './settings.js';
import { formatSweep } from './sweep.js';

/** Formats the result of a capacity run as text, without a trailing line break. */
export function formatCapacityText(result: CapacityResult, options: TextOptions): string {
  const sheet = createSheet(options);
  const { sweep, search, warnings } = result;
  const blocks = [
    [
      ...formatList(sheet, describeSettings(result), 2, 'dim'),
      ...options.notes.flatMap((note) => formatParagraph(sheet, `note: ${note}`, 6)),
    ],
    ...(sweep ? formatSweep(sweep, sheet) : []),
    ...(search ? formatSearch(search, sheet) : []),
    warnings.flatMap(({ message }) => formatParagraph(sheet, `! ${message}`, 2, 'warning')),
  ];
  return joinBlocks(blocks);
}
