import type { CapacityPoint } from '../../../explain/result.js';
import { roundTime, time } from '../../../format/units.js';
import { type Axis, type ChartMark, renderChart, toPixels } from '../../html/charts/chart.js';
import { type ChartPoint, drawPolyline } from '../../html/charts/curves.js';
import { drawLineSign, renderLegend } from '../../html/charts/legend.js';
import { drawDot, drawSquare } from '../../html/charts/markers.js';
import { createLogScaleAround, listDecades, type Scale } from '../../html/charts/scale.js';
import { html, type Markup } from '../../html/markup.js';

/** Margin of a scale beyond the outermost values, as a ratio. */
const SCALE_MARGIN = 1.5;

/** A chart of latency over an increasing load. */
export interface LatencyChart {
  title: string;
  /** Points by load; `name` is the load in words. */
  points: { x: number; name: string; latencyMs: CapacityPoint['latencyMs'] }[];
  x: Axis;
  marks: ChartMark[];
  /** Lower bounds of the mean. */
  bounds: { words: string; draw(y: Scale): (Markup | null)[] } | null;
}

/** Renders median and 99th percentile where they are known; `null` if they are not. */
export function renderLatencyChart({
  title,
  points,
  x,
  marks,
  bounds,
}: LatencyChart): Markup | null {
  const [p50, p99] = [listKnown(points, 'p50'), listKnown(points, 'p99')];
  if (p50.length === 0) return null;
  const y = createLogScaleAround(
    [...p50, ...p99].map(({ ms }) => ms),
    SCALE_MARGIN,
  );
  const toPoints = (known: KnownPercentile[]) =>
    known.map((one): ChartPoint => [x.scale.at(one.x), toPixels(y, one.ms)]);
  return renderChart({
    title,
    caption: `From the moment a request was due.${bounds ? ` ${bounds.words}` : ''} Logarithmic scales.`,
    legend: renderLegend([
      [html`${drawLineSign('line first')}${drawDot('12', 6, {})}`, 'p50'],
      p99.length > 0 && [
        html`${drawLineSign('line second')}${drawSquare('12', 6, { kind: 'second' })}`,
        'p99',
      ],
      bounds !== null && [drawLineSign('bound'), 'bounds of the mean'],
    ]),
    summary: `Latency: ${[...p50, ...p99].map(({ words }) => words).join('; ')}.`,
    x,
    y: { scale: y, ticks: listDecades(y), label: roundTime },
    content: [
      ...(bounds?.draw(y) ?? []),
      drawPolyline('line second', toPoints(p99)),
      drawPolyline('line first', toPoints(p50)),
      ...p99.map((one) =>
        drawSquare(`${x.scale.at(one.x)}%`, toPixels(y, one.ms), {
          kind: 'second',
          title: one.words,
        }),
      ),
      ...p50.map((one) =>
        drawDot(`${x.scale.at(one.x)}%`, toPixels(y, one.ms), { title: one.words }),
      ),
    ].filter((drawn) => drawn !== null),
    marks,
  });
}

/** A known percentile at a load. */
interface KnownPercentile {
  x: number;
  ms: number;
  words: string;
}

function listKnown(points: LatencyChart['points'], percentile: 'p50' | 'p99'): KnownPercentile[] {
  return points.flatMap(({ x, name, latencyMs }) => {
    const ms = latencyMs[percentile];
    return ms === null ? [] : [{ x, ms, words: `${name}: ${percentile} ${time(ms)}` }];
  });
}
