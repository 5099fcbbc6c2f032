import type { LoadResult } from '../load/result.js';
import { describePlan } from './plan.js';
import { formatDistributions } from './text/distributions.js';
import { formatFailingResponses } from './text/failing.js';
import { formatGenerator, formatWarnings } from './text/generator.js';
import { createPainter } from './text/paint.js';
import { formatRequests } from './text/requests.js';
import { formatList, formatParagraph, type Sheet } from './text/sheet.js';
import { formatTimeline } from './text/timeline.js';

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
export function formatLoadText(result: LoadResult, options: TextOptions): string {
  const sheet: Sheet = { width: Math.max(60, options.width), paint: createPainter(options.color) };
  const head = [
    ...formatList(sheet, describePlan(result.plan), 2, 'strong'),
    ...options.notes.flatMap((note) => formatParagraph(sheet, `note: ${note}`, 6)),
  ];
  const blocks = [
    head,
    formatRequests(result, sheet),
    formatDistributions(result, sheet),
    [...formatTimeline(result, sheet), ...formatGenerator(result, sheet)],
    formatFailingResponses(result, sheet),
    formatWarnings(result, sheet),
  ];
  return blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n');
}

/** A line of text as a paragraph of the report. */
export function wrapText(text: string, options: Pick<TextOptions, 'color' | 'width'>): string {
  const sheet: Sheet = { width: Math.max(60, options.width), paint: createPainter(options.color) };
  return formatParagraph(sheet, text, 2).join('\n');
}
