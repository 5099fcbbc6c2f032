import type { CapacityPoint, Explanation } from '../../../explain/result.js';
import { count, rate, time } from '../../../format/units.js';
import { figure } from '../../distribution.js';
import { flatBound, risingBound } from '../../html/bounds.js';
import { chartFigure, type Mark, up } from '../../html/chart.js';
import { dot, spread } from '../../html/markers.js';
import { html, type Markup } from '../../html/markup.js';
import { decades, type Scale, scaleAround } from '../../html/scale.js';
import { table } from '../../html/tables.js';

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
    loopLimit === null ? null : flatBound(y, loopLimit),
    singleMs === null ? null : risingBound(x, y, 1000 / singleMs),
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
  return { x: scaleAround(across, room), y: scaleAround(rates, room) };
}

function captionOf({ loopLimit, singleMs }: Explanation['capacity']): string {
  const bounds = [
    singleMs === null ? '' : `N / ${time(singleMs)}, the response time alone`,
    loopLimit === null ? '' : `${rate(loopLimit)} req/s, which the event loop's CPU allows`,
  ].filter((text) => text !== '');
  const dashed = bounds.length > 0 ? ` Dashed, the bounds: ${bounds.join('; ')}.` : '';
  return `Responses per second with N requests in flight; the bars are the range of the blocks.${dashed} Logarithmic scales.`;
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
  const title = `${count(point.connections)}: ${rate(mean)} req/s`;
  return html`${spread(at, up(y, low), up(y, high))}${dot(`${at}%`, up(y, mean), { kind: isOwn ? 'own' : null, title, large: isOwn })}
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
      figure(latencyMs, 'p50'),
      figure(latencyMs, 'p99'),
    ]),
  );
}
