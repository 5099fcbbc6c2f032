import type { CapacityPoint, Explanation } from '../../../explain/result.js';
import { chartFigure, type Mark, up } from '../../html/chart.js';
import { html, type Markup } from '../../html/markup.js';
import { decades, logScale, type Scale } from '../../html/scale.js';
import { table } from '../../html/tables.js';
import { count, rate, time } from '../../units.js';

/** Room beside the outermost points, as a ratio. */
const room = 1.5;

/** Throughput over connections as measured, between the two bounds that no service exceeds. */
export function capacityFigure({ capacity, load }: Explanation): Markup | null {
  const { points, loopLimit, singleMs, knee } = capacity;
  if (points.length === 0) return null;
  const { plan } = load;
  const own = plan.model === 'closed' ? plan.connections * plan.pipelining : null;
  const { x, y } = scales(capacity);
  const marks: Mark[] = [];
  if (own !== null) marks.push({ x: own, label: `your ${count(own)}`, color: 'first' });
  if (knee !== null) marks.push({ x: knee, label: `knee ${count(knee)}`, color: 'muted' });
  const bounds = [
    loopLimit === null ? null : loopBound(y, loopLimit),
    singleMs === null ? null : singleBound(x, y, singleMs),
  ];
  return html`${chartFigure({
    title: 'Throughput over connections',
    caption: captionOf(capacity),
    summary: `Throughput at ${points.map(({ connections, throughput }) => `${count(connections)} connections: ${rate(throughput.mean)}`).join(', ')} requests per second.`,
    x: { scale: x, ticks: decades(x), label: count },
    y: { scale: y, ticks: decades(y), label: rate },
    content: [
      ...bounds.filter((bound) => bound !== null),
      ...connections(points, x, y),
      ...points.map((point) => measured(point, x, y, point.connections === own)),
    ],
    marks,
  })}
${capacityTable(points)}`;
}

function scales({ points, loopLimit, knee }: Explanation['capacity']): { x: Scale; y: Scale } {
  const across = points.map((point) => point.connections);
  if (knee !== null) across.push(knee);
  const rates = points.flatMap(({ throughput: { low, high } }) => [low, high]);
  if (loopLimit !== null) rates.push(loopLimit);
  return { x: around(across), y: around(rates) };
}

function around(values: number[]): Scale {
  const known = values.filter((value) => value > 0 && Number.isFinite(value));
  const [least, most] = known.length > 0 ? [Math.min(...known), Math.max(...known)] : [1, 1];
  return logScale(least / room, most * room);
}

function captionOf({ loopLimit, singleMs }: Explanation['capacity']): string {
  const bounds = [
    singleMs === null ? '' : `N / ${time(singleMs)}, the response time alone`,
    loopLimit === null ? '' : `${rate(loopLimit)} req/s, which the event loop's CPU allows`,
  ].filter((text) => text !== '');
  const dashed = bounds.length > 0 ? ` Dashed, the bounds: ${bounds.join('; ')}.` : '';
  return `Responses per second with N requests in flight; the bars are the range of the blocks.${dashed} Logarithmic scales.`;
}

function loopBound(y: Scale, loopLimit: number): Markup {
  const at = up(y, loopLimit);
  return html`<line class="bound" x1="0" x2="100%" y1="${at}" y2="${at}"/>`;
}

/** X = N / R0 as far as it is within the scales: a straight line, as both are logarithmic. */
function singleBound(x: Scale, y: Scale, singleMs: number): Markup | null {
  const rateAt = (requests: number) => (requests * 1000) / singleMs;
  const from = Math.max(x.low, (y.low * singleMs) / 1000);
  const to = Math.min(x.high, (y.high * singleMs) / 1000);
  if (from >= to) return null;
  return html`<line class="bound" x1="${x.at(from)}%" x2="${x.at(to)}%" y1="${up(y, rateAt(from))}" y2="${up(y, rateAt(to))}"/>`;
}

/** The lines from one point to the next. */
function connections(points: CapacityPoint[], x: Scale, y: Scale): Markup[] {
  return points.slice(1).flatMap((to, index) => {
    const from = points[index];
    if (!from) return [];
    return html`<line class="line first" x1="${x.at(from.connections)}%" x2="${x.at(to.connections)}%" y1="${up(y, from.throughput.mean)}" y2="${up(y, to.throughput.mean)}"/>`;
  });
}

function measured(point: CapacityPoint, x: Scale, y: Scale, isOwn: boolean): Markup {
  const { low, high, mean } = point.throughput;
  const at = x.at(point.connections);
  return html`<line class="spread" x1="${at}%" x2="${at}%" y1="${up(y, low)}" y2="${up(y, high)}"/>
<circle class="${isOwn ? 'point own' : 'point'}" cx="${at}%" cy="${up(y, mean)}" r="${isOwn ? 6 : 4}"><title>${count(point.connections)}: ${rate(mean)} req/s</title></circle>
`;
}

function capacityTable(points: CapacityPoint[]): Markup | null {
  return table(
    'Measured',
    ['in flight', 'req/s', 'lowest block', 'highest block', 'p50', 'p99'],
    points.map(({ connections, throughput, latencyMs }) => [
      count(connections),
      rate(throughput.mean),
      rate(throughput.low),
      rate(throughput.high),
      time(latencyMs.p50),
      time(latencyMs.p99),
    ]),
  );
}
