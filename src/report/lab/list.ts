import type { StudySummary } from '../../lab/result.js';
import type { TextOptions } from '../load/text.js';
import { createSheet, formatParagraph, type Sheet } from '../text/sheet.js';

/** Formats the list of studies that `millrace lab` prints. */
export function formatLabList(
  studies: StudySummary[],
  options: Omit<TextOptions, 'notes'>,
): string {
  const sheet = createSheet(options);
  const entries = studies.map(({ name, question, original, seconds: { quick, full } }) =>
    [
      `${sheet.paint('strong', name)}  ${sheet.paint('dim', `${Math.ceil(full / 60)} min, --quick ${quick} s`)}`,
      ...indent(sheet, question),
      ...indent(sheet, original).map((line) => sheet.paint('dim', line)),
    ].join('\n'),
  );
  return [
    'Studies of HTTP in Node.js. Repeat one on this machine: millrace lab NAME',
    ...entries,
    `${sheet.paint('strong', 'all')}  all studies; with --html FILE as one page`,
  ].join('\n\n');
}

function indent(sheet: Sheet, text: string): string[] {
  const [first = '', ...others] = formatParagraph(sheet, text, 2);
  return [`  ${first}`, ...others];
}
