import type { CapacityLevel, Sweep } from '../../capacity/result.js';
import type { Estimate } from '../../explain/capacity/fit.js';
import { bar } from '../text/bars.js';
import { paragraph, type Sheet } from '../text/sheet.js';
import { cores, count, plural, rate, share, time } from '../units.js';

const widestBar = 20;

/** Of the numbers in a row. */
const numbersWidth = 57;

const curveNames = {
  mva: 'a delay and one server',
  bounds: 'a wait that all have, then a limit',
  amdahl: 'a part of the work that is done one at a time',
  usl: 'a part of the work that is done one at a time, and more of it with more connections',
} as const;

/** One sentence, its arithmetic, and the levels. */
export function sweepLines(sweep: Sweep, sheet: Sheet): string[][] {
  if (sweep.levels.length === 0) return [['No level was measured.']];
  return [
    [
      ...paragraph(sheet, sentence(sweep), 2, 'strong'),
      ...arithmetic(sweep).flatMap((line) => paragraph(sheet, `  ${line}`, 4)),
    ],
    table(sweep, sheet),
    ended(sweep).flatMap((line) => paragraph(sheet, `! ${line}`, 2, 'warning')),
  ];
}

function sentence({ best, model, levels, ended }: Sweep): string {
  if (!best) return `No level tells of the server, of ${plural(levels.length, 'level')}.`;
  const measured = `${rate(best.throughput.mean)} req/s with ${plural(best.connections, 'connection')}`;
  const { maxThroughput, knee, peak } = model ?? {};
  if (!maxThroughput || !knee) {
    const scatter = model ? ` (${share(model.scatter)})` : '';
    return ended === 'past-knee'
      ? `About ${measured}; the levels scatter too much${scatter} to tell a knee.`
      : `At least ${measured}: throughput was still growing.`;
  }
  const most = `At most ${rate(maxThroughput.value)} req/s (${between(maxThroughput)})`;
  if (peak) {
    return `${most}, at ${count(peak.value)} connections (${between(peak, count)}): beyond that throughput falls.`;
  }
  return `${most}, from ${plural(Math.max(1, Math.round(knee.value)), 'connection')} on (${between(knee, count)}): with more of them requests only wait.`;
}

function arithmetic({ model }: Sweep): string[] {
  if (!model) return [];
  const { maxThroughput, knee, singleMs, curve, scatter } = model;
  const fitted = `The levels follow ${curveNames[curve]}, to ${share(scatter)}.`;
  if (!maxThroughput || !knee) return [`${time(singleMs.value)} for a single request. ${fitted}`];
  const perTen = maxThroughput.value / 100;
  return [
    `${rate(maxThroughput.value)} req/s x ${time(singleMs.value)} for a single request = ${count(Math.max(1, knee.value))} in flight. Every 10 ms of wait in a request takes ${plural(Math.ceil(perTen), 'connection')} more.`,
    fitted,
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
    const times = [latencyMs.p50, latencyMs.p99].map((ms) => time(ms).padStart(9)).join('');
    const cpu = withCpu && serverCpu !== null ? cores(serverCpu).padStart(6) : '';
    return `${numbers}  ${drawn}${times}${cpu}${sheet.paint('bad', remark(level))}`;
  });
  return [sheet.paint('dim', header), ...rows];
}

function remark({ clientBound, errorShare }: CapacityLevel): string {
  if (errorShare > 0) return `  ${share(errorShare)} failed`;
  return clientBound ? '  CLIENT-BOUND' : '';
}

function ended({ ended, levels, best }: Sweep): string[] {
  const last = levels.at(-1)?.connections ?? 0;
  switch (ended) {
    case 'past-knee':
      return [];
    case 'connections':
      return best?.connections === last
        ? [`${plural(last, 'connection')} were the most allowed; more: -c N.`]
        : [];
    case 'budget':
      return [
        'The time was over before throughput stopped growing, or before all was measured; more: --budget 2m.',
      ];
    case 'errors':
      return [
        `With ${plural(last, 'connection')} requests failed: what is beyond says nothing about throughput.`,
      ];
    case 'client-bound':
      return [
        `CLIENT-BOUND: with ${plural(last, 'connection')} the load generator was the limit. More threads (-t), or another machine for it.`,
      ];
    case 'server-ended':
      return [
        `The server ended, or could no longer be reached, after the level of ${plural(last, 'connection')}.`,
      ];
    default:
      return ['Interrupted: what was measured until then.'];
  }
}

function between({ low, high }: Estimate, format = rate): string {
  return `95 %: ${format(low)} to ${format(high)}`;
}
