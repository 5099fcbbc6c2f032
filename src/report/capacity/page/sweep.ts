import { usable } from '../../../capacity/levels.js';
import type { CapacityCurve, CapacityLevel, Sweep } from '../../../capacity/result.js';
import { count, plural, rate, time } from '../../../format/units.js';
import { flatBound, risingBound } from '../../html/bounds.js';
import { type Axis, chartFigure, type Mark, up } from '../../html/chart.js';
import { areaBetween, type Place, polyline } from '../../html/curves.js';
import { areaSign, legend, lineSign } from '../../html/legend.js';
import { dot, spread } from '../../html/markers.js';
import { html, type Markup } from '../../html/markup.js';
import { decades, powersOfTwo, type Scale, scaleAround } from '../../html/scale.js';
import { hasEnd } from '../answer.js';
import { latencyFigure } from './latency.js';

/** Room beside the outermost values, as a ratio. */
const room = 1.5;

/** Throughput and latency over connections. */
export function sweepFigures(sweep: Sweep): (Markup | null)[] {
  return [throughputFigure(sweep), latencyOver(sweep)];
}

/** The levels with the curve through them, between the two bounds that no service exceeds. */
function throughputFigure(sweep: Sweep): Markup | null {
  const { model } = sweep;
  // Nothing has no place on a logarithmic scale.
  const levels = sweep.levels.filter(({ throughput }) => throughput.mean > 0);
  if (levels.length === 0) return null;
  const x = acrossConnections(sweep);
  const rates = levels.flatMap(({ throughput: { low, high } }) => [low, high]);
  const y = scaleAround(
    [...rates, ...(model?.maxThroughput ? [model.maxThroughput.value] : [])],
    room,
  );
  const sound = usable(levels);
  const leftOut = levels.filter((level) => !sound.includes(level));
  return chartFigure({
    title: 'Throughput over connections',
    caption: `Responses per second, a point for each number of connections, with its 95 % interval.${boundsInWords(model)} Logarithmic scales.`,
    legend: legend([
      [dot('12', 6, {}), 'measured'],
      leftOut.length > 0 && [dot('12', 6, { kind: 'left-out' }), 'left out of the curve'],
      model !== null && [lineSign('line first'), 'curve'],
      model !== null && [areaSign('band'), '95 % of blocks'],
      model !== null && [lineSign('bound'), 'bounds'],
    ]),
    summary: throughputInWords(sweep),
    x: connectionsAxis(x),
    y: { scale: y, ticks: decades(y), label: rate },
    content: [
      ...(model ? curveThrough(model, x, y) : []),
      ...levels.map((level) => throughputPoint(level, x, y, leftOut.includes(level))),
    ],
    marks: marksOf(model),
  });
}

/** Percentiles, which grow with the connections beyond the knee, and the bounds of the mean. */
function latencyOver(sweep: Sweep): Markup | null {
  const { levels, model } = sweep;
  const x = acrossConnections(sweep);
  const most = model?.maxThroughput?.value;
  return latencyFigure({
    title: 'Latency over connections',
    bounds:
      most && model
        ? {
            words: `Dashed, the bounds of the mean: ${time(model.singleMs.value)} alone, and N / ${rate(most)} req/s with N connections.`,
            draw: (y) => [flatBound(y, model.singleMs.value), risingBound(x, y, 1000 / most)],
          }
        : null,
    points: usable(levels).map(({ connections, latencyMs }) => ({
      x: connections,
      name: plural(connections, 'connection'),
      latencyMs,
    })),
    x: connectionsAxis(x),
    marks: marksOf(model),
  });
}

/** The levels, and what the curve says about places beyond them. */
function acrossConnections({ levels, model }: Sweep): Scale {
  const { knee, peak } = model ?? {};
  const told = [knee, peak].flatMap((estimate) => (estimate ? [estimate.value] : []));
  return scaleAround([...levels.map(({ connections }) => connections), ...told], room);
}

function connectionsAxis(scale: Scale): Axis {
  return { scale, ticks: powersOfTwo(scale).filter(Number.isInteger), label: count };
}

/** What a block gives by the curve, and the bounds: N / R0 and the highest throughput. */
function curveThrough(model: CapacityCurve, x: Scale, y: Scale): Markup[] {
  const { singleMs, maxThroughput } = model;
  const points = model.points.filter(({ connections }) => connections <= x.high);
  const places = (height: (throughput: CapacityCurve['singleMs']) => number) =>
    points.map(
      ({ connections, throughput }): Place => [x.at(connections), up(y, height(throughput))],
    );
  return [
    areaBetween(
      'band',
      places(({ high }) => (hasEnd(high) ? high : y.high)),
      places(({ low }) => low),
    ),
    risingBound(x, y, 1000 / singleMs.value),
    maxThroughput && flatBound(y, maxThroughput.value),
    maxThroughput && boundName(y, maxThroughput.value),
    polyline(
      'line first',
      places(({ value }) => value),
    ),
  ].filter((drawn) => drawn !== null);
}

function boundName(y: Scale, most: number): Markup {
  return html`<text class="bound-name" x="4" y="${up(y, most) - 6}">at most ${rate(most)}</text>`;
}

function throughputPoint(level: CapacityLevel, x: Scale, y: Scale, isLeftOut: boolean): Markup {
  const { mean, low, high } = level.throughput;
  const at = x.at(level.connections);
  const title = `${plural(level.connections, 'connection')}: ${rate(mean)} req/s`;
  return html`${spread(at, up(y, low), up(y, high))}${dot(`${at}%`, up(y, mean), { kind: isLeftOut ? 'left-out' : null, title })}
`;
}

function marksOf(model: CapacityCurve | null): Mark[] {
  const { knee, peak } = model ?? {};
  return [
    ...(knee
      ? [{ x: knee.value, label: `knee ${count(knee.value)}`, color: 'first' } as const]
      : []),
    ...(peak
      ? [{ x: peak.value, label: `peak ${count(peak.value)}`, color: 'muted' } as const]
      : []),
  ];
}

function boundsInWords(model: CapacityCurve | null): string {
  if (!model) return '';
  const { singleMs, maxThroughput } = model;
  const most = maxThroughput ? `; ${rate(maxThroughput.value)} req/s, the most` : '';
  return ` Dashed, the bounds: N / ${time(singleMs.value)}, the response time alone${most}.`;
}

function throughputInWords({ levels, model }: Sweep): string {
  const { maxThroughput, knee, peak } = model ?? {};
  const parts = levels.map(
    ({ connections, throughput }) =>
      `${rate(throughput.mean)} with ${plural(connections, 'connection')}`,
  );
  const told = [
    maxThroughput ? `at most ${rate(maxThroughput.value)}` : '',
    knee ? `knee at ${count(knee.value)}` : '',
    peak ? `peak at ${count(peak.value)}` : '',
  ].filter((text) => text !== '');
  const curve = told.length > 0 ? ` By the curve ${told.join(', ')}.` : '';
  return `Responses per second: ${parts.join(', ')}.${curve}`;
}
