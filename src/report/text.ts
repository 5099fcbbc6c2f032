import type { LoadResult } from '../load/result.js';
import { planSentence } from './plan.js';
import { distributionLines } from './text/distributions.js';
import { failingLines } from './text/failing.js';
import { generatorLines, warningLines } from './text/generator.js';
import { painter } from './text/paint.js';
import { requestLines } from './text/requests.js';
import { list, paragraph, type Sheet } from './text/sheet.js';
import { timelineLines } from './text/timeline.js';

/** How the text report is written. */
export interface TextOptions {
  /** Colours by escape sequences. */
  color: boolean;
  /** Characters per line; what is below 60 counts as 60. */
  width: number;
  /** Lines on how the settings were understood, below the first line. */
  notes: string[];
}

/** The report of a run as text, without a line break at its end. */
export function textReport(result: LoadResult, options: TextOptions): string {
  const sheet: Sheet = { width: Math.max(60, options.width), paint: painter(options.color) };
  const head = [
    ...list(sheet, planSentence(result.plan), 2, 'strong'),
    ...options.notes.flatMap((note) => paragraph(sheet, `note: ${note}`, 6)),
  ];
  const blocks = [
    head,
    requestLines(result, sheet),
    distributionLines(result, sheet),
    [...timelineLines(result, sheet), ...generatorLines(result, sheet)],
    failingLines(result, sheet),
    warningLines(result, sheet),
  ];
  return blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n');
}

/** A line of text as a paragraph of the report. */
export function wrapped(text: string, options: Pick<TextOptions, 'color' | 'width'>): string {
  const sheet: Sheet = { width: Math.max(60, options.width), paint: painter(options.color) };
  return paragraph(sheet, text, 2).join('\n');
}
