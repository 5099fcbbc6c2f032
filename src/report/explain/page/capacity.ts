import type { CapacityPoint, Explanation } from '../../../explain/result.js';
import { count, rate, time } from '../../../format/units.js';
import { computeMaxInFlight } from '../../../load/streams.js';
import { formatStatistic } from '../../distributions/distribution.js';
import { drawFlatBound, drawRisingBound } from '../../html/charts/bounds.js';
import { type ChartMark, renderChart, toPixels } from '../../html/charts/chart.js';
import { drawPolyline } from '../../html/charts/curves.js';
import { drawMeasurement } from '../../html/charts/markers.js';
import { createLogScaleAround, listDecades, type Scale } from '../../html/charts/scale.js';
import { html, type Markup } from '../../html/markup.js';
import { renderTable } from '../../html/tables.js';

/** Margin of a scale beyond the outermost points, as a ratio. */
const SCALE_MARGIN = 1.5;

/** Renders the measured throughput over connections, and the two bounds of throughput. */
export function renderCapacity({ capacity, load }: Explanation): Markup | null {
  const { points, loopLimit, singleMs, knee } = capacity;
  if (points.length === 0) return null;
  const own = load.plan.model === 'closed' ? computeMaxInFlight(load) : null;
  const { x, y } = createScales(capacity);
  const marks: ChartMark[] = [];
  if (own !== null) marks.push({ x: own, label: `your ${count(own)}`, color: 'first' });
  if (knee !== null) marks.push({ x: knee, label: `knee ${count(knee)}`, color: 'muted' });
  const bounds = [
    loopLimit === null ? null : drawFlatBound(y, loopLimit),
    singleMs === null ? null : drawRisingBound(x, y, 1000 / singleMs),
  ];
  return html`${renderChart({
    title: 'Throughput over connections',
    caption: formatCaption(capacity),
    summary: `Throughput at ${points.map(({ connections, throughput }) => `${count(connections)} connections: ${rate(throughput.mean)}`).join(', ')} requests per second.`,
    x: { scale: x, ticks: listDecades(x), label: count },
    y: { scale: y, ticks: listDecades(y), label: rate },
    content: [
      ...bounds,
      drawPolyline(
        'line first',
        points.map(
          (point) => [x.at(point.connections), toPixels(y, point.throughput.mean)] as const,
        ),
      ),
      ...points.map((point) => drawPoint(point, x, y, point.connections === own)),
    ].filter((drawn) => drawn !== null),
    marks,
  })}
${renderCapacityTable(points)}`;
}

function createScales({ points, loopLimit, knee }: Explanation['capacity']): {
  x: Scale;
  y: Scale;
} {
  const across = points.map((point) => point.connections);
  if (knee !== null) across.push(knee);
  const rates = points.flatMap(({ throughput: { low, high } }) => [low, high]);
  if (loopLimit !== null) rates.push(loopLimit);
  return {
    x: createLogScaleAround(across, SCALE_MARGIN),
    y: createLogScaleAround(rates, SCALE_MARGIN),
  };
}

function formatCaption({ loopLimit, singleMs }: Explanation['capacity']): string {
  const bounds = [
    singleMs === null ? '' : `N / ${time(singleMs)}, the response time of a single request`,
    loopLimit === null ? '' : `${rate(loopLimit)} req/s, the limit of the event loop's CPU`,
  ].filter((text) => text !== '');
  const dashed = bounds.length > 0 ? ` Dashed, the bounds: ${bounds.join('; ')}.` : '';
  return `Responses per second with N requests in flight; the bars are the range of the blocks.${dashed} Logarithmic scales.`;
}

function drawPoint(point: CapacityPoint, x: Scale, y: Scale, isOwn: boolean): Markup {
  const { low, high, mean } = point.throughput;
  const heights = { mean: toPixels(y, mean), low: toPixels(y, low), high: toPixels(y, high) };
  const title = `${count(point.connections)}: ${rate(mean)} req/s`;
  return drawMeasurement(x.at(point.connections), heights, {
    kind: isOwn ? 'own' : null,
    title,
    large: isOwn,
  });
}

function renderCapacityTable(points: CapacityPoint[]): Markup | null {
  return renderTable(
    'Measured',
    ['in flight', 'req/s', 'lowest block', 'highest block', 'p50', 'p99'],
    points.map(({ connections, throughput, latencyMs }) => [
      count(connections),
      rate(throughput.mean),
      rate(throughput.low),
      rate(throughput.high),
      formatStatistic(latencyMs, 'p50'),
      formatStatistic(latencyMs, 'p99'),
    ]),
  );
}
