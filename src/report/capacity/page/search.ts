import type { CapacitySearch, CapacityTrial } from '../../../capacity/result.js';
import { rate, roundTime } from '../../../format/units.js';
import { type Condition, parseCondition } from '../../../load/plan/condition.js';
import { drawFlatBound, drawRisingBound } from '../../html/charts/bounds.js';
import {
  AREA_BOTTOM,
  AREA_TOP,
  type Axis,
  type ChartMark,
  renderChart,
  toPixels,
} from '../../html/charts/chart.js';
import { type ChartPoint, drawPolyline } from '../../html/charts/curves.js';
import { drawAreaSign, drawLineSign, renderLegend } from '../../html/charts/legend.js';
import { drawDot, drawSquare, type MarkerStyle } from '../../html/charts/markers.js';
import { drawRange } from '../../html/charts/ranges.js';
import {
  createLinearScale,
  createLogScaleAround,
  listDecades,
  listMultiples,
  type Scale,
} from '../../html/charts/scale.js';
import type { Markup } from '../../html/markup.js';
import { hasUpperEnd } from '../answer.js';
import { extractMetric, formatMeasured } from '../measured.js';
import { chooseWords } from '../words.js';
import { renderLatencyChart } from './latency.js';

/** Margin of a scale beyond the outermost values, as a ratio. */
const SCALE_MARGIN = 1.2;

/** Renders the conditions, latency and throughput over the rate. */
export function renderSearchCharts(search: CapacitySearch): (Markup | null)[] {
  if (search.trials.length === 0) return [];
  return [
    ...search.objective.map((_, index) => renderConditionChart(search, index)),
    renderLatency(search),
    renderThroughput(search),
  ];
}

/** Renders the measured value of a condition at each rate, and which blocks held the objective. */
function renderConditionChart(search: CapacitySearch, index: number): Markup | null {
  const condition = parseCondition(search.objective[index] ?? '', 'objective');
  const { trials, confirmed } = search;
  const { perSecond, noun } = chooseWords(search);
  const points = trials.flatMap((trial) => toTrialValue(trial, index));
  if (points.length === 0) return null;
  const again = confirmed ? toTrialValue(confirmed, index) : [];
  const x = createRateScale(search);
  const y = createValueAxis(condition, [...points, ...again]);
  const print = (value: number) => formatMeasured(value, condition.text);
  const draw = ({ trial, value }: TrialValue, look: MarkerStyle) => {
    const title = `${rate(trial.rate)} ${perSecond}: ${print(value)}, ${trial.held ? 'held' : 'did not hold'}`;
    const sign = trial.held ? drawDot : drawSquare;
    return sign(`${x.at(trial.rate)}%`, toPixels(y.scale, value), {
      kind: chooseKind(trial),
      title,
      ...look,
    });
  };
  return renderChart({
    title: `${extractMetric(condition.text)} over the rate`,
    caption: `The measured value of each block, and the bound of ${condition.text}. A block holds if all conditions hold, few ${noun}s fail, and the rate is reached. ${condition.boundMs === null ? 'Logarithmic scale of the rate.' : 'Logarithmic scales.'}`,
    legend: renderLegend([
      [drawDot('12', 6, { kind: 'held' }), 'objective held'],
      [drawSquare('12', 6, { kind: 'failed' }), 'did not hold'],
      trials.some(failedByClient) && [drawSquare('12', 6, { kind: 'left-out' }), 'CLIENT-BOUND'],
      again.length > 0 && [drawDot('12', 6, { kind: 'own held', large: true }), 'longer block'],
      [drawLineSign('bound'), print(condition.bound)],
      search.rate !== null && [drawAreaSign('band'), '95 % interval of the answer'],
    ]),
    summary: `${condition.text}: ${points.map(({ trial, value }) => `${print(value)} at ${rate(trial.rate)} ${noun}s per second, ${trial.held ? 'held' : 'did not hold'}`).join('; ')}.`,
    x: createRateAxis(x),
    y,
    content: [
      drawInterval(search, x),
      drawFlatBound(y.scale, condition.bound),
      ...points.map((point) => draw(point, {})),
      ...again.map((point) => draw(point, { kind: `own ${chooseKind(point.trial)}`, large: true })),
    ].filter((drawn) => drawn !== null),
    marks: listMarks(search),
  });
}

/** Renders the usual percentiles over the rate. */
function renderLatency(search: CapacitySearch): Markup | null {
  const { perSecond } = chooseWords(search);
  return renderLatencyChart({
    title: 'Latency over the rate',
    bounds: null,
    points: sortByRate(search).map(({ rate: at, latencyMs }) => ({
      x: at,
      name: `${rate(at)} ${perSecond}`,
      latencyMs,
    })),
    x: createRateAxis(createRateScale(search)),
    marks: listMarks(search),
  });
}

/** Renders the completed requests against those that became due. */
function renderThroughput(search: CapacitySearch): Markup | null {
  const { perSecond, noun } = chooseWords(search);
  const x = createRateScale(search);
  // A logarithmic scale has no zero.
  const points = sortByRate(search).filter(({ throughput }) => throughput > 0);
  if (points.length === 0) return null;
  const y = createLogScaleAround(
    [...points.map(({ throughput }) => throughput), points[0]?.rate ?? 0],
    SCALE_MARGIN,
  );
  const places = points.map(
    (trial): ChartPoint => [x.at(trial.rate), toPixels(y, trial.throughput)],
  );
  const inWords = (trial: CapacityTrial) =>
    `${rate(trial.throughput)} completed of ${rate(trial.rate)} ${perSecond}`;
  return renderChart({
    title: 'Throughput over the rate',
    caption: `${noun === 'request' ? 'Responses' : 'Completed iterations'} per second in each block. Dashed: ${noun}s that became due; below that line the server fell behind. Logarithmic scales.`,
    legend: renderLegend([
      [drawDot('12', 6, {}), 'completed'],
      [drawLineSign('bound'), 'due'],
    ]),
    summary: `Throughput: ${points.map(inWords).join('; ')}.`,
    x: createRateAxis(x),
    y: { scale: y, ticks: listDecades(y), label: rate },
    content: [
      drawRisingBound(x, y, 1),
      drawPolyline('line first', places),
      ...points.map((trial, index) => {
        const [at, from] = places[index] ?? [0, 0];
        return drawDot(`${at}%`, from, { title: inWords(trial) });
      }),
    ].filter((drawn) => drawn !== null),
    marks: listMarks(search),
  });
}

/** A trial with the measured value of a condition. */
interface TrialValue {
  trial: CapacityTrial;
  value: number;
}

function toTrialValue(trial: CapacityTrial, index: number): TrialValue[] {
  const value = trial.measured[index] ?? null;
  return value === null ? [] : [{ trial, value }];
}

function chooseKind(trial: CapacityTrial): string {
  if (trial.held) return 'held';
  return failedByClient(trial) ? 'left-out' : 'failed';
}

/** Whether a trial failed while the generator was the limit, which says nothing about the server. */
function failedByClient({ held, clientBound }: CapacityTrial): boolean {
  return clientBound && !held;
}

function sortByRate({ trials }: CapacitySearch): CapacityTrial[] {
  return trials.toSorted((a, b) => a.rate - b.rate);
}

function createRateScale({ trials, rate: found }: CapacitySearch): Scale {
  const ends = found ? [found.low, found.high] : [];
  return createLogScaleAround([...trials.map((trial) => trial.rate), ...ends], SCALE_MARGIN);
}

function createRateAxis(scale: Scale): Axis {
  return { scale, ticks: listDecades(scale), label: rate };
}

/** Creates the axis of values: logarithmic for times, which span decades under overload, and linear from 0 otherwise. */
function createValueAxis({ boundMs, bound, text }: Condition, points: TrialValue[]): Axis {
  const values = [...points.map(({ value }) => value), bound];
  if (boundMs !== null) {
    const scale = createLogScaleAround(values, SCALE_MARGIN);
    return { scale, ticks: listDecades(scale), label: roundTime };
  }
  const scale = createLinearScale(1.08 * Math.max(...values) || 1);
  return { scale, ticks: listMultiples(scale), label: (value) => formatMeasured(value, text) };
}

function drawInterval({ rate: found }: CapacitySearch, x: Scale): Markup | null {
  if (!found) return null;
  const high = hasUpperEnd(found.high) ? found.high : x.high;
  return drawRange('band', { low: found.low, high }, x, {
    y: AREA_TOP,
    height: AREA_BOTTOM - AREA_TOP,
  });
}

function listMarks(search: CapacitySearch): ChartMark[] {
  const { rate: found } = search;
  if (!found) return [];
  const { perSecond } = chooseWords(search);
  const { value, low, high } = found;
  return hasUpperEnd(high)
    ? [{ x: value, label: `${rate(value)} ${perSecond}`, color: 'first' }]
    : [{ x: low, label: `${rate(low)} ${perSecond} at least`, color: 'first' }];
}
