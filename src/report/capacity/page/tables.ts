import type {
  CapacityLevel,
  CapacitySearch,
  CapacitySweep,
  CapacityTrial,
} from '../../../capacity/result.js';
import { cores, count, duration, rate } from '../../../format/units.js';
import { formatStatistic } from '../../distributions/distribution.js';
import { html, type Markup } from '../../html/markup.js';
import { renderTable, renderTextTable } from '../../html/tables.js';
import { describeDoubt, describeOutcome, extractMetric, formatMeasured } from '../measured.js';
import { chooseWords } from '../words.js';

/** Renders the levels with the prediction of the curve. */
export function renderLevelTable(sweep: CapacitySweep): Markup | null {
  const { levels, model } = sweep;
  const { perSecond, place } = chooseWords(sweep);
  const curve = new Map(model?.points.map((point) => [point.connections, point.throughput.value]));
  const withCpu = levels.some(({ serverCpu }) => serverCpu !== null);
  return renderTable(
    'Levels, with the 95 % interval of the throughput',
    [`${place}s`, perSecond, 'curve', 'p50', 'p99', ...(withCpu ? ['CPU, cores'] : [])],
    levels.map((level) => {
      const onCurve = curve.get(level.connections);
      const cpu = level.serverCpu === null ? '–' : cores(level.serverCpu);
      return [
        renderLevelName(level),
        html`${rate(level.throughput.mean)}<small>${rate(level.throughput.low)} to ${rate(level.throughput.high)}</small>`,
        onCurve === undefined ? '–' : rate(onCurve),
        formatStatistic(level.latencyMs, 'p50'),
        formatStatistic(level.latencyMs, 'p99'),
        ...(withCpu ? [cpu] : []),
      ];
    }),
  );
}

function renderLevelName(level: CapacityLevel): Markup {
  const remark = describeDoubt(level);
  return html`${count(level.connections)}${remark === '' ? null : html`<small>${remark}</small>`}`;
}

/** Renders the trials by rate, with the measured value of each condition. */
export function renderTrialTable(search: CapacitySearch): Markup | null {
  const { trials, confirmed, objective } = search;
  const metrics = objective.map(extractMetric);
  const percentiles = (['p50', 'p99'] as const).filter((name) => !metrics.includes(name));
  const row = (trial: CapacityTrial, note: string) => [
    html`${rate(trial.rate)}<small>${note}</small>`,
    ...trial.measured.map((value, index) => formatMeasured(value, objective[index])),
    ...percentiles.map((name) => formatStatistic(trial.latencyMs, name)),
    rate(trial.throughput),
    describeOutcome(trial),
  ];
  const rows = trials
    .toSorted((a, b) => a.rate - b.rate)
    .map((trial) => row(trial, formatLength(trial)));
  if (confirmed) rows.push(row(confirmed, `longer block, ${formatLength(confirmed)}`));
  return renderTextTable(
    `By rate, in ${chooseWords(search).noun}s per second`,
    ['rate', ...metrics, ...percentiles, 'completed', 'objective'],
    rows,
  );
}

function formatLength({ durationMs }: CapacityTrial): string {
  return durationMs < 1000
    ? duration(Math.round(durationMs))
    : duration(Math.round(durationMs / 100) * 100);
}
