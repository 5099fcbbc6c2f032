import type { CapacityLevel, RateTrial, Search, Sweep } from '../../../capacity/result.js';
import { cores, count, duration, rate } from '../../../format/units.js';
import { figure } from '../../distribution.js';
import { html, type Markup } from '../../html/markup.js';
import { table, textTable } from '../../html/tables.js';
import { measuredValue, metricOf, outcomeOf, remarkOn } from '../measured.js';

/** The levels, beside what the curve gives there. */
export function levelTable({ levels, model }: Sweep): Markup | null {
  const curve = new Map(model?.points.map((point) => [point.connections, point.throughput.value]));
  const withCpu = levels.some(({ serverCpu }) => serverCpu !== null);
  return table(
    'Levels, with the 95 % interval of the throughput',
    ['connections', 'req/s', 'curve', 'p50', 'p99', ...(withCpu ? ['CPU, cores'] : [])],
    levels.map((level) => {
      const onCurve = curve.get(level.connections);
      const cpu = level.serverCpu === null ? '–' : cores(level.serverCpu);
      return [
        levelName(level),
        html`${rate(level.throughput.mean)}<small>${rate(level.throughput.low)} to ${rate(level.throughput.high)}</small>`,
        onCurve === undefined ? '–' : rate(onCurve),
        figure(level.latencyMs, 'p50'),
        figure(level.latencyMs, 'p99'),
        ...(withCpu ? [cpu] : []),
      ];
    }),
  );
}

function levelName(level: CapacityLevel): Markup {
  const remark = remarkOn(level);
  return html`${count(level.connections)}${remark === '' ? null : html`<small>${remark}</small>`}`;
}

/** The trials by rate, with what was measured for each condition. */
export function trialTable({ trials, confirmed, objective }: Search): Markup | null {
  const metrics = objective.map(metricOf);
  const percentiles = (['p50', 'p99'] as const).filter((name) => !metrics.includes(name));
  const row = (trial: RateTrial, note: string) => [
    html`${rate(trial.rate)}<small>${note}</small>`,
    ...trial.measured.map((value, index) => measuredValue(value, objective[index])),
    ...percentiles.map((name) => figure(trial.latencyMs, name)),
    rate(trial.throughput),
    outcomeOf(trial),
  ];
  const rows = trials
    .toSorted((a, b) => a.rate - b.rate)
    .map((trial) => row(trial, lengthOf(trial)));
  if (confirmed) rows.push(row(confirmed, `again, ${lengthOf(confirmed)}`));
  return textTable(
    'By rate, in requests per second',
    ['rate', ...metrics, ...percentiles, 'completed', 'objective'],
    rows,
  );
}

function lengthOf({ durationMs }: RateTrial): string {
  return durationMs < 1000
    ? duration(Math.round(durationMs))
    : duration(Math.round(durationMs / 100) * 100);
}
