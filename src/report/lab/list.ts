import type { StudySummary } from '../../lab/summary.js';
import { painter } from '../text/paint.js';
import { paragraph, type Sheet } from '../text/sheet.js';
import type { TextOptions } from '../text.js';

/** The studies that can be repeated: what `millrace lab` prints. */
export function labListText(studies: StudySummary[], options: Omit<TextOptions, 'notes'>): string {
  const sheet: Sheet = { width: Math.max(60, options.width), paint: painter(options.color) };
  const entries = studies.map(({ name, question, original, seconds: { quick, full } }) =>
    [
      `${sheet.paint('strong', name)}  ${sheet.paint('dim', `${Math.ceil(full / 60)} min, --quick ${quick} s`)}`,
      ...lines(sheet, question),
      ...lines(sheet, original).map((line) => sheet.paint('dim', line)),
    ].join('\n'),
  );
  return [
    'Studies of HTTP in Node.js, to be repeated on this machine: millrace lab NAME',
    ...entries,
    `${sheet.paint('strong', 'all')}  all of them; with --html FILE one page`,
  ].join('\n\n');
}

function lines(sheet: Sheet, text: string): string[] {
  const [first = '', ...others] = paragraph(sheet, text, 2);
  return [`  ${first}`, ...others];
}
