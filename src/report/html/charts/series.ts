import { html, type Markup } from '../markup.js';
import { AREA_BOTTOM, toPixels } from './chart.js';
import { type ChartPoint, drawArea, drawPolyline } from './curves.js';
import { drawDot } from './markers.js';
import type { Scale } from './scale.js';

/** A line of a plot: a value for each x. */
export interface Series {
  label: string;
  /** `null` is a gap. */
  values: (number | null)[];
  color: 'first' | 'second' | 'error';
  /** Whether a value applies to the window up to the next x, not to a point. */
  stepped: boolean;
  dashed: boolean;
  filled: boolean;
}

/** Draws a line, in parts where it has gaps; `kind` is a class of the style sheet. */
export function drawSeries(
  kind: string,
  xs: readonly number[],
  { values, color, stepped, filled }: Series,
  x: Scale,
  y: Scale,
): Markup[] {
  return splitAtGaps(xs, values, stepped).flatMap((part) => {
    const points = part.map(([at, value]): ChartPoint => [x.at(at), toPixels(y, value)]);
    const [first, ...others] = points;
    if (first && others.length === 0) {
      return drawDot(`${first[0]}%`, first[1], { kind: color, small: true });
    }
    const ground = points.map(([at]): ChartPoint => [at, AREA_BOTTOM]);
    const area = filled ? drawArea('fill', points, ground) : null;
    return html`${area}${drawPolyline(kind, points)}`;
  });
}

/** Splits a line into the parts between gaps. A step is a point at either end of its window. */
function splitAtGaps(
  xs: readonly number[],
  values: readonly (number | null)[],
  stepped: boolean,
): [x: number, value: number][][] {
  const parts: [number, number][][] = [];
  let part: [number, number][] = [];
  for (const [index, value] of values.entries()) {
    const [from, to] = [xs[index] ?? 0, xs[index + 1]];
    if (value === null) {
      parts.push(part);
      part = [];
    } else if (!stepped) part.push([from, value]);
    else if (to !== undefined) part.push([from, value], [to, value]);
  }
  return [...parts, part].filter(({ length }) => length > 0);
}
