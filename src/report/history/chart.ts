import { plural } from '../../format/units.js';
import type { HistoryPlan, HistoryPoint } from '../../history/result.js';
import { type Axis, renderChart, toPixels } from '../html/charts/chart.js';
import { drawPolyline } from '../html/charts/curves.js';
import { drawLineSign, renderLegend } from '../html/charts/legend.js';
import { drawDot, drawMeasurement } from '../html/charts/markers.js';
import {
  createLinearScaleAround,
  createLinearScaleBetween,
  listMultiples,
  type Scale,
} from '../html/charts/scale.js';
import { html, type Markup } from '../html/markup.js';
import { type FigureWords, formatEnds, formatMinute, namePoint } from './words.js';

/** Maximum number of labels below a chart. */
const MAX_LABELS = 6;

/** How far beyond the measured values intervals extend the y axis, as a factor. */
const MAX_EXTENT = 2;

/** Distance of the runs of a point from its interval, in points. */
const RUN_DISTANCE = 0.12;

/** A point with a known figure, and its position on the x axis. */
interface Place {
  point: HistoryPoint;
  x: number;
  value: number;
  low: number;
  high: number;
}

/** Renders a figure of the points, side by side in the order of time; `null` if none has it. */
export function renderHistoryChart(plan: HistoryPlan, figure: FigureWords): Markup | null {
  const places = listPlaces(plan, figure);
  if (places.length === 0) return null;
  const x = createXAxis(plan);
  const runs = listRuns(places, figure);
  const measured = [...places, ...runs].map(({ value }) => value);
  const [lowest, highest] = [
    Math.min(...measured) / MAX_EXTENT,
    Math.max(...measured) * MAX_EXTENT,
  ];
  const isCut = places.some(({ low, high }) => low < lowest || high > highest);
  const y = createLinearScaleAround([
    ...measured,
    ...places.flatMap(({ low, high }) => [Math.max(low, lowest), Math.min(high, highest)]),
  ]);
  const isBound = plan.points.some((point) => point.runs.some(({ clientBound }) => clientBound));
  return renderChart({
    title: figure.name,
    caption: `With the 95 % interval${isCut ? ', cut off where it leaves the plot' : ''}. The axis does not begin at zero.`,
    legend: renderLegend([
      [html`${drawLineSign('line between')}${drawDot('12', 6, {})}`, 'mean of the runs'],
      runs.length > 0 && [drawDot('12', 6, { kind: 'run', small: true }), 'a run of several'],
      isBound && [drawDot('12', 6, { kind: 'left-out' }), 'the load generator was the limit'],
    ]),
    summary: summarize(places, figure),
    x,
    y: { scale: y, ticks: listMultiples(y), label: figure.tick },
    content: [
      drawPolyline(
        'line between',
        places
          .filter(({ point }) => !point.clientBound)
          .map(({ x: at, value }) => [x.scale.at(at), toPixels(y, value)] as const),
      ),
      ...runs.map(({ x: at, value, title, clientBound }) =>
        drawDot(`${x.scale.at(at)}%`, toPixels(y, value), {
          kind: clientBound ? 'left-out' : 'run',
          ...{ title, small: true },
        }),
      ),
      ...places.map((place) => drawPlace(place, figure, x.scale, y)),
    ].filter((drawn) => drawn !== null),
    marks: [],
  });
}

function listPlaces({ points }: HistoryPlan, { read }: FigureWords): Place[] {
  return points.flatMap((point, x) => {
    const figure = read(point);
    if (figure === null) return [];
    const { value, interval } = figure;
    return [{ point, x, value, low: interval?.low ?? value, high: interval?.high ?? value }];
  });
}

/** Lists the runs of points that have several. */
function listRuns(places: readonly Place[], { readRun, format }: FigureWords) {
  return places.flatMap(({ point: { runs }, x }) =>
    runs.flatMap((run) => {
      const value = readRun(run);
      if (runs.length < 2 || value === null) return [];
      const title = `${run.file}, ${formatMinute(run.startedAt)}: ${format(value)}`;
      return [{ x: x + RUN_DISTANCE, value, title, clientBound: run.clientBound }];
    }),
  );
}

function createXAxis({ points }: HistoryPlan): Axis {
  const last = points.length - 1;
  const scale = createLinearScaleBetween(-0.5, last + 0.5);
  const step = Math.max(1, Math.ceil(points.length / MAX_LABELS));
  const ticks = [...points.keys()].filter((index) => (last - index) % step === 0);
  return {
    scale,
    ticks,
    label(index) {
      const point = points[index];
      return point ? (point.commit ? namePoint(point) : point.startedAt.slice(5, 10)) : '';
    },
    isMinor: (index) => ticks.length > 4 && ((last - index) / step) % 2 === 1,
  };
}

function drawPlace(
  { point, x, value, low, high }: Place,
  figure: FigureWords,
  scale: Scale,
  y: Scale,
): Markup {
  const heights = { mean: toPixels(y, value), low: toPixels(y, low), high: toPixels(y, high) };
  return drawMeasurement(scale.at(x), heights, {
    kind: point.clientBound ? 'left-out' : null,
    title: describePlace(point, figure),
  });
}

function describePlace(point: HistoryPoint, figure: FigureWords): string {
  const known = figure.read(point);
  if (known === null) return '';
  const { value, interval } = known;
  const name = point.commit === null ? '' : `${namePoint(point)}, `;
  const ends = interval ? ` (${formatEnds(interval, figure)})` : '';
  const runs = point.runs.length > 1 ? `, ${plural(point.runs.length, 'run')}` : '';
  return `${name}${formatMinute(point.startedAt)}: ${figure.format(value)}${ends}${runs}`;
}

function summarize(places: readonly Place[], figure: FigureWords): string {
  const [first, last] = [places[0], places.at(-1)];
  if (!first || !last) return '';
  const words = ({ point, value }: Place) => `${figure.format(value)} at ${namePoint(point)}`;
  const ends = places.length === 1 ? words(first) : `from ${words(first)} to ${words(last)}`;
  return `${figure.name} of ${plural(places.length, 'point')}: ${ends}.`;
}
