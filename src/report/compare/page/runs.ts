import type {
  ComparedRun,
  ComparisonMetric,
  ComparisonResult,
  ComparisonSideName,
} from '../../../compare/result.js';
import { roundTime } from '../../../format/units.js';
import { median } from '../../../statistics/median.js';
import { type Axis, renderChart, toPixels } from '../../html/charts/chart.js';
import { drawLineSign, renderLegend } from '../../html/charts/legend.js';
import { drawDot, drawSquare, type MarkerStyle } from '../../html/charts/markers.js';
import {
  createLinearScaleAround,
  createLinearScaleBetween,
  listMultiples,
  type Scale,
} from '../../html/charts/scale.js';
import { html, type Markup } from '../../html/markup.js';
import { chooseWords, formatFigure, METRICS } from '../metrics.js';

const SIDES = ['a', 'b'] as const;

/** A run with a known figure, and its position on the x axis. */
interface RunPoint {
  run: ComparedRun;
  x: number;
  value: number;
}

/** Renders the runs of both sides as points over time; `null` if no run has the figure. */
export function renderRunChart(result: ComparisonResult, metric: ComparisonMetric): Markup | null {
  const points = listPoints(result, metric);
  if (points.length === 0) return null;
  const [first] = result.runs;
  const { name } = chooseWords({ metric, ...(first?.counted && { counted: first.counted }) });
  const y = createLinearScaleAround(points.map(({ value }) => value));
  const limited = points.some(({ run }) => run.clientBound);
  return renderChart({
    title: `${name} of each run`,
    caption: `Runs are the sample: the interval comes from how they scatter. Lines are the medians. ${result.ended === 'files' ? 'In the order of the files.' : 'Time since the start of the first run.'}`,
    legend: renderLegend([
      [html`${drawLineSign('line first')}${drawDot('12', 6, {})}`, 'A'],
      [html`${drawLineSign('line second')}${drawSquare('12', 6, { kind: 'second' })}`, 'B'],
      limited && [drawDot('12', 6, { kind: 'left-out' }), 'the load generator was the limit'],
    ]),
    summary: `${name}: ${SIDES.map((side) => summarize(points, side, metric)).join('; ')}.`,
    x: createXAxis(result, points),
    y: { scale: y, ticks: listMultiples(y), label: METRICS[metric].formatTick },
    content: [
      ...SIDES.map((side) => drawMedian(points, side, y)),
      ...points.map((point) => drawRun(point, metric, createXAxis(result, points).scale, y)),
    ].filter((drawn) => drawn !== null),
    marks: [],
  });
}

function listPoints({ runs, ended }: ComparisonResult, metric: ComparisonMetric): RunPoint[] {
  const first = Math.min(...runs.map(({ startedAt }) => Date.parse(startedAt)));
  return runs.flatMap((run, index) => {
    const value = run.figures[metric];
    const x = ended === 'files' ? index + 1 : Date.parse(run.startedAt) - first;
    return value === null ? [] : [{ run, x, value }];
  });
}

function createXAxis({ ended }: ComparisonResult, points: RunPoint[]): Axis {
  const last = Math.max(1, ...points.map(({ x }) => x));
  const scale = createLinearScaleBetween(-0.04 * last, 1.04 * last);
  if (ended === 'files') {
    const ticks = listMultiples(scale).filter((tick) => Number.isInteger(tick) && tick > 0);
    return { scale, ticks, label: String };
  }
  return { scale, ticks: listMultiples(scale).filter((tick) => tick >= 0), label: roundTime };
}

function drawRun(
  { run, x, value }: RunPoint,
  metric: ComparisonMetric,
  scale: Scale,
  y: Scale,
): Markup {
  const style: MarkerStyle = {
    kind: run.clientBound ? 'left-out' : run.side === 'b' ? 'second' : null,
    title: `${run.side.toUpperCase()}${run.pair === null ? '' : `, pair ${run.pair + 1}`}: ${formatFigure(metric, value)}${run.clientBound ? ', CLIENT-BOUND' : ''}`,
  };
  const draw = run.side === 'a' ? drawDot : drawSquare;
  return draw(`${scale.at(x)}%`, toPixels(y, value), style);
}

function listValues(points: RunPoint[], side: ComparisonSideName): number[] {
  return points.filter(({ run }) => run.side === side).map(({ value }) => value);
}

function drawMedian(points: RunPoint[], side: ComparisonSideName, y: Scale): Markup | null {
  const values = listValues(points, side);
  if (values.length === 0) return null;
  const at = toPixels(y, median(values));
  return html`<line class="line ${side === 'a' ? 'first' : 'second'}" x1="0" x2="100%" y1="${at}" y2="${at}"/>`;
}

function summarize(points: RunPoint[], side: ComparisonSideName, metric: ComparisonMetric): string {
  const values = listValues(points, side);
  const middle = values.length > 0 ? median(values) : null;
  return `${side.toUpperCase()} median ${formatFigure(metric, middle)} of ${values.length} runs`;
}
