import type { CapacityPoint } from '../../../explain/result.js';
import { roundTime, time } from '../../../format/units.js';
import { type Axis, chartFigure, type Mark, up } from '../../html/chart.js';
import { type Place, polyline } from '../../html/curves.js';
import { legend, lineSign } from '../../html/legend.js';
import { dot, square } from '../../html/markers.js';
import { html, type Markup } from '../../html/markup.js';
import { decades, type Scale, scaleAround } from '../../html/scale.js';

/** Room beside the outermost values, as a ratio. */
const room = 1.5;

/** Latency over a load that grows. */
export interface LatencyChart {
  title: string;
  /** By load; `name` says how much it is, for readers. */
  points: { x: number; name: string; latencyMs: CapacityPoint['latencyMs'] }[];
  x: Axis;
  marks: Mark[];
  /** What the mean cannot be below. */
  bounds: { words: string; draw(y: Scale): (Markup | null)[] } | null;
}

/** Median and 99th percentile, as far as there are samples for them; `null` where there are none. */
export function latencyFigure({ title, points, x, marks, bounds }: LatencyChart): Markup | null {
  const [p50, p99] = [line(points, 'p50'), line(points, 'p99')];
  if (p50.length === 0) return null;
  const y = scaleAround(
    [...p50, ...p99].map(({ ms }) => ms),
    room,
  );
  const places = (told: Told[]) => told.map((one): Place => [x.scale.at(one.x), up(y, one.ms)]);
  return chartFigure({
    title,
    caption: `From the moment a request was due.${bounds ? ` ${bounds.words}` : ''} Logarithmic scales.`,
    legend: legend([
      [html`${lineSign('line first')}${dot('12', 6, {})}`, 'p50'],
      p99.length > 0 && [
        html`${lineSign('line second')}${square('12', 6, { kind: 'second' })}`,
        'p99',
      ],
      bounds !== null && [lineSign('bound'), 'bounds of the mean'],
    ]),
    summary: `Latency: ${[...p50, ...p99].map(({ words }) => words).join('; ')}.`,
    x,
    y: { scale: y, ticks: decades(y), label: roundTime },
    content: [
      ...(bounds?.draw(y) ?? []),
      polyline('line second', places(p99)),
      polyline('line first', places(p50)),
      ...p99.map((one) =>
        square(`${x.scale.at(one.x)}%`, up(y, one.ms), { kind: 'second', title: one.words }),
      ),
      ...p50.map((one) => dot(`${x.scale.at(one.x)}%`, up(y, one.ms), { title: one.words })),
    ].filter((drawn) => drawn !== null),
    marks,
  });
}

/** A percentile that is known. */
interface Told {
  x: number;
  ms: number;
  words: string;
}

function line(points: LatencyChart['points'], percentile: 'p50' | 'p99'): Told[] {
  return points.flatMap(({ x, name, latencyMs }) => {
    const ms = latencyMs[percentile];
    return ms === null ? [] : [{ x, ms, words: `${name}: ${percentile} ${time(ms)}` }];
  });
}
