import type { CapacitySearch, CapacityTrial } from '../../capacity/result.js';
import { rate } from '../../format/units.js';
import { drawBar } from '../text/bars.js';
import { formatParagraph, type Sheet } from '../text/sheet.js';
import { describeOutcome, extractMetric, formatMeasured } from './measured.js';
import { answerSearch } from './search-answer.js';
import { chooseWords } from './words.js';

const BAR_WIDTH = 16;
/** Least and greatest width of a column; a longer name is cut. */
const [COLUMN_WIDTH, MAX_COLUMN_WIDTH] = [10, 24];

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

function formatTable(search: CapacitySearch, sheet: Sheet): string[] {
  const { trials, objective } = search;
  const { perSecond } = chooseWords(search);
  const rateWidth = Math.max(9, perSecond.length + 1);
  if (trials.length === 0) return [];
  const sorted = trials.toSorted((a, b) => a.rate - b.rate);
  const first = (trial: CapacityTrial) => trial.measured[0] ?? 0;
  // The values of overloaded blocks are cut off, as they would make all others invisible.
  const highest = 2 * Math.max(0, ...sorted.filter(({ held }) => held).map(first));
  const columns = objective.map((text) => {
    const name = extractMetric(text);
    const width = Math.min(MAX_COLUMN_WIDTH, Math.max(COLUMN_WIDTH, name.length + 2));
    return { width, title: cut(name, width - 2).padStart(width) };
  });
  const taken = columns.reduce((sum, { width }) => sum + width, 0);
  const rows = sorted.map((trial) => {
    const { rate: at, held, measured } = trial;
    const values = measured.map((value, index) =>
      formatMeasured(value, objective[index]).padStart(columns[index]?.width ?? COLUMN_WIDTH),
    );
    const drawn = drawBar(highest > 0 ? Math.min(1, first(trial) / highest) : 0, BAR_WIDTH).padEnd(
      BAR_WIDTH,
    );
    const verdict = cut(describeOutcome(trial), sheet.width - 4 - rateWidth - taken - BAR_WIDTH);
    return `${rate(at).padStart(rateWidth)}${values.join('')}  ${sheet.paint(held ? 'bar' : 'bad', drawn)}  ${sheet.paint(held ? 'good' : 'bad', verdict)}`;
  });
  const titles = columns.map(({ title }) => title).join('');
  return [sheet.paint('dim', `${perSecond.padStart(rateWidth)}${titles}`), ...rows];
}

function cut(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text;
}
