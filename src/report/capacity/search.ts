import type { RateTrial, Search } from '../../capacity/result.js';
import { rate } from '../../format/units.js';
import { bar } from '../text/bars.js';
import { paragraph, type Sheet } from '../text/sheet.js';
import { measuredValue, metricOf, outcomeOf } from './measured.js';
import { searchAnswer } from './search-answer.js';

const barWidth = 16;
const columnWidth = 10;

/** One sentence, the longer block that confirms it, and the trials by rate. */
export function searchLines(search: Search, sheet: Sheet): string[][] {
  const { sentence, grounds, doubts } = searchAnswer(search);
  const ink = search.rate ? 'strong' : 'bad';
  return [
    [
      ...paragraph(sheet, sentence, 2, ink),
      ...grounds.flatMap((line) => paragraph(sheet, `  ${line}`, 4)),
    ],
    table(search, sheet),
    doubts.flatMap((line) => paragraph(sheet, `! ${line}`, 2, 'warning')),
  ];
}

function table({ trials, objective }: Search, sheet: Sheet): string[] {
  if (trials.length === 0) return [];
  const sorted = trials.toSorted((a, b) => a.rate - b.rate);
  const first = (trial: RateTrial) => trial.measured[0] ?? 0;
  // What overloaded blocks show would leave nothing to be seen of the others.
  const most = 2 * Math.max(0, ...sorted.filter(({ held }) => held).map(first));
  const names = objective.map((text) => metricOf(text).padStart(columnWidth)).join('');
  const rows = sorted.map((trial) => {
    const { rate: at, held, measured } = trial;
    const values = measured.map((value, index) =>
      measuredValue(value, objective[index]).padStart(columnWidth),
    );
    const drawn = bar(most > 0 ? Math.min(1, first(trial) / most) : 0, barWidth).padEnd(barWidth);
    const why = outcomeOf(trial);
    const room = sheet.width - 13 - measured.length * columnWidth - barWidth;
    const verdict = why.length > room ? `${why.slice(0, room - 1)}…` : why;
    return `${rate(at).padStart(9)}${values.join('')}  ${sheet.paint(held ? 'bar' : 'bad', drawn)}  ${sheet.paint(held ? 'good' : 'bad', verdict)}`;
  });
  return [sheet.paint('dim', `${'req/s'.padStart(9)}${names}`), ...rows];
}
