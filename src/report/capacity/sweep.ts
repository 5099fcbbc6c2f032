import type { CapacityLevel, CapacitySweep } from '../../capacity/result.js';
import { cores, count, rate } from '../../format/units.js';
import { formatStatistic } from '../distributions/distribution.js';
import { drawBar } from '../text/bars.js';
import { formatParagraph, type Sheet } from '../text/sheet.js';
import { describeDoubt } from './measured.js';
import { answerSweep } from './sweep-answer.js';
import { chooseWords } from './words.js';

const MAX_BAR_WIDTH = 20;

/** Width of the numbers in a row. */
const NUMBERS_WIDTH = 57;

/** Widths of the first two columns, which take 21 together. */
const COLUMN_WIDTHS = { connection: [11, 10], user: [7, 14] } as const;

/** Formats the answer, its reasoning, and the levels. */
export function formatSweep(sweep: CapacitySweep, sheet: Sheet): string[][] {
  const { sentence, grounds, warnings } = answerSweep(sweep);
  if (sweep.levels.length === 0) return [[sentence]];
  return [
    [
      ...formatParagraph(sheet, sentence, 2, 'strong'),
      ...grounds.flatMap((line) => formatParagraph(sheet, `  ${line}`, 4)),
    ],
    formatTable(sweep, sheet),
    warnings.flatMap((line) => formatParagraph(sheet, `! ${line}`, 2, 'warning')),
  ];
}

function formatTable(sweep: CapacitySweep, sheet: Sheet): string[] {
  const { levels, model } = sweep;
  const { perSecond, place } = chooseWords(sweep);
  const [placeWidth, rateWidth] = COLUMN_WIDTHS[place];
  const highest = Math.max(...levels.map(({ throughput }) => throughput.high));
  const remarks = Math.max(...levels.map((level) => formatDoubt(level).length));
  const barWidth = Math.max(0, Math.min(MAX_BAR_WIDTH, sheet.width - NUMBERS_WIDTH - remarks));
  const withCpu = levels.some(({ serverCpu }) => serverCpu !== null);
  const curve = new Map(model?.points.map((point) => [point.connections, point.throughput.value]));
  const header = `${`${place}s`.padStart(placeWidth)}${perSecond.padStart(rateWidth)}${'curve'.padStart(10)}  ${' '.repeat(barWidth)}${'p50'.padStart(9)}${'p99'.padStart(9)}${withCpu ? '   CPU' : ''}`;
  const rows = levels.map((level) => {
    const { connections, throughput, latencyMs, serverCpu } = level;
    const onCurve = curve.get(connections);
    const numbers = [
      count(connections).padStart(placeWidth),
      rate(throughput.mean).padStart(rateWidth),
      (onCurve === undefined ? '–' : rate(onCurve)).padStart(10),
    ].join('');
    const drawn = sheet.paint('bar', drawBar(throughput.mean / highest, barWidth).padEnd(barWidth));
    const times = (['p50', 'p99'] as const)
      .map((name) => formatStatistic(latencyMs, name, '≥').padStart(9))
      .join('');
    const cpu = withCpu && serverCpu !== null ? cores(serverCpu).padStart(6) : '';
    return `${numbers}  ${drawn}${times}${cpu}${sheet.paint('bad', formatDoubt(level))}`;
  });
  return [sheet.paint('dim', header), ...rows];
}

function formatDoubt(level: CapacityLevel): string {
  const words = describeDoubt(level);
  return words === '' ? '' : `  ${words}`;
}
