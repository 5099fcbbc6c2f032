import type { CapacitySearch, CapacityTrial } from '../../capacity/result.js';
import { rate } from '../../format/units.js';
import { drawBar } from '../text/bars.js';
import { formatParagraph, type Sheet } from '../text/sheet.js';
import { describeOutcome, extractMetric, formatMeasured } from './measured.js';
import { answerSearch } from './search-answer.js';

const BAR_WIDTH = 16;
const COLUMN_WIDTH = 10;

/** Formats the answer, the block that confirms it, and the trials by rate. */
export function formatSearch(search: CapacitySearch, sheet: Sheet): string[][] {
  const { sentence, grounds, warnings } = answerSearch(search);
  const ink = search.rate ? 'strong' : 'bad';
  return [
    [
      ...formatParagraph(sheet, sentence, 2, ink),
      ...grounds.flatMap((line) => formatParagraph(sheet, `  ${line}`, 4)),
    ],
    formatTable(search, sheet),
    warnings.flatMap((line) => formatParagraph(sheet, `! ${line}`, 2, 'warning')),
  ];
}

function formatTable({ trials, objective }: CapacitySearch, sheet: Sheet): string[] {
  if (trials.length === 0) return [];
  const sorted = trials.toSorted((a, b) => a.rate - b.rate);
  const first = (trial: CapacityTrial) => trial.measured[0] ?? 0;
  // The values of overloaded blocks are cut off, as they would make all others invisible.
  const highest = 2 * Math.max(0, ...sorted.filter(({ held }) => held).map(first));
  const names = objective.map((text) => extractMetric(text).padStart(COLUMN_WIDTH)).join('');
  const rows = sorted.map((trial) => {
    const { rate: at, held, measured } = trial;
    const values = measured.map((value, index) =>
      formatMeasured(value, objective[index]).padStart(COLUMN_WIDTH),
    );
    const drawn = drawBar(highest > 0 ? Math.min(1, first(trial) / highest) : 0, BAR_WIDTH).padEnd(
      BAR_WIDTH,
    );
    const why = describeOutcome(trial);
    const room = sheet.width - 13 - measured.length * COLUMN_WIDTH - BAR_WIDTH;
    const verdict = why.length > room ? `${why.slice(0, room - 1)}…` : why;
    return `${rate(at).padStart(9)}${values.join('')}  ${sheet.paint(held ? 'bar' : 'bad', drawn)}  ${sheet.paint(held ? 'good' : 'bad', verdict)}`;
  });
  return [sheet.paint('dim', `${'req/s'.padStart(9)}${names}`), ...rows];
}
