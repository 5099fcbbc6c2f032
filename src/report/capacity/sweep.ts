import type { CapacityLevel, Sweep } from '../../capacity/result.js';
import { cores, count, rate } from '../../format/units.js';
import { figure } from '../distribution.js';
import { bar } from '../text/bars.js';
import { paragraph, type Sheet } from '../text/sheet.js';
import { remarkOn } from './measured.js';
import { sweepAnswer } from './sweep-answer.js';

const widestBar = 20;

/** Of the numbers in a row. */
const numbersWidth = 57;

/** One sentence, its arithmetic, and the levels. */
export function sweepLines(sweep: Sweep, sheet: Sheet): string[][] {
  const { sentence, grounds, doubts } = sweepAnswer(sweep);
  if (sweep.levels.length === 0) return [[sentence]];
  return [
    [
      ...paragraph(sheet, sentence, 2, 'strong'),
      ...grounds.flatMap((line) => paragraph(sheet, `  ${line}`, 4)),
    ],
    table(sweep, sheet),
    doubts.flatMap((line) => paragraph(sheet, `! ${line}`, 2, 'warning')),
  ];
}

function table({ levels, model }: Sweep, sheet: Sheet): string[] {
  const most = Math.max(...levels.map(({ throughput }) => throughput.high));
  const remarks = Math.max(...levels.map((level) => remark(level).length));
  const barWidth = Math.max(0, Math.min(widestBar, sheet.width - numbersWidth - remarks));
  const withCpu = levels.some(({ serverCpu }) => serverCpu !== null);
  const curve = new Map(model?.points.map((point) => [point.connections, point.throughput.value]));
  const header = `connections${'req/s'.padStart(10)}${'curve'.padStart(10)}  ${' '.repeat(barWidth)}${'p50'.padStart(9)}${'p99'.padStart(9)}${withCpu ? '   CPU' : ''}`;
  const rows = levels.map((level) => {
    const { connections, throughput, latencyMs, serverCpu } = level;
    const onCurve = curve.get(connections);
    const numbers = [
      count(connections).padStart(11),
      rate(throughput.mean).padStart(10),
      (onCurve === undefined ? '–' : rate(onCurve)).padStart(10),
    ].join('');
    const drawn = sheet.paint('bar', bar(throughput.mean / most, barWidth).padEnd(barWidth));
    const times = (['p50', 'p99'] as const)
      .map((name) => figure(latencyMs, name, '≥').padStart(9))
      .join('');
    const cpu = withCpu && serverCpu !== null ? cores(serverCpu).padStart(6) : '';
    return `${numbers}  ${drawn}${times}${cpu}${sheet.paint('bad', remark(level))}`;
  });
  return [sheet.paint('dim', header), ...rows];
}

function remark(level: CapacityLevel): string {
  const words = remarkOn(level);
  return words === '' ? '' : `  ${words}`;
}
