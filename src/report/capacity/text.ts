import type { CapacityResult } from '../../capacity/result.js';
import { painter } from '../text/paint.js';
import { list, paragraph, type Sheet } from '../text/sheet.js';
import type { TextOptions } from '../text.js';
import { searchLines } from './search.js';
import { settings } from './settings.js';
import { sweepLines } from './sweep.js';

/** The report of a capacity run as text, without a line break at its end. */
export function capacityText(result: CapacityResult, options: TextOptions): string {
  const sheet: Sheet = { width: Math.max(60, options.width), paint: painter(options.color) };
  const { sweep, search, warnings } = result;
  const blocks = [
    [
      ...list(sheet, settings(result), 2, 'dim'),
      ...options.notes.flatMap((note) => paragraph(sheet, `note: ${note}`, 6)),
    ],
    ...(sweep ? sweepLines(sweep, sheet) : []),
    ...(search ? searchLines(search, sheet) : []),
    warnings.flatMap(({ message }) => paragraph(sheet, `! ${message}`, 2, 'warning')),
  ];
  return blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n');
}
