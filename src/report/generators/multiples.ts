import { html, type Markup } from '../html/markup.js';

/** One of several small plots that are read beside each other. */
export interface Multiple {
  title: string;
  note: string;
  /** What is wrong with it; empty if nothing is. */
  alarm: string;
  points: MultiplePoint[];
}

/** What happened in an interval of time; rates per second. */
interface MultiplePoint {
  fromMs: number;
  toMs: number;
  completed: number;
  errors: number;
  p99Ms: number | null;
}

/** The ends of the axes, which all plots have in common; the others are 0. */
export interface MultipleScales {
  durationMs: number;
  highestRate: number;
  highestMs: number;
}

/** Height of each of the two curves, in units of the drawing, whose width is 100. */
const HEIGHT = 40;

/** Draws a small plot: the rate of responses and errors over time, and p99 below. */
export function drawMultiple(
  { title, note, alarm, points }: Multiple,
  { durationMs, highestRate, highestMs }: MultipleScales,
): Markup {
  const x = (ms: number) => round((100 * ms) / (durationMs || 1));
  const step = (value: (point: MultiplePoint) => number | null, highest: number) =>
    splitAtGaps(points, value).map((part) =>
      part.flatMap(({ fromMs, toMs, height }) => {
        const y = round(HEIGHT * (1 - height / (highest || 1)));
        return [`${x(fromMs)},${y}`, `${x(toMs)},${y}`];
      }),
    );
  const [rates = []] = step(({ completed }) => completed, highestRate);
  const [first, last] = [points[0]?.fromMs ?? 0, points.at(-1)?.toMs ?? 0];
  const ground = [`${x(last)},${HEIGHT}`, `${x(first)},${HEIGHT}`];
  const hasErrors = points.some(({ errors }) => errors > 0);
  const errors = hasErrors ? step(({ errors }) => errors, highestRate) : [];
  const latencies = highestMs > 0 ? step(({ p99Ms }) => p99Ms, highestMs) : [];
  return html`<figure class="multiple">
<figcaption><strong>${title}</strong>${alarm === '' ? null : html` <span class="bad">${alarm}</span>`}<br>${note}</figcaption>
<div role="img" aria-label="${title} over time: ${note}">
${drawStrip(html`<polygon class="fill" points="${[...rates, ...ground].join(' ')}"/>${drawLines('line first', [rates])}${drawLines('line error', errors)}`)}
${latencies.length > 0 ? drawStrip(drawLines('line second', latencies)) : null}
</div>
</figure>`;
}

function drawStrip(content: Markup): Markup {
  return html`<svg class="plane" viewBox="0 0 100 ${HEIGHT}" preserveAspectRatio="none"><line class="grid" x1="0" x2="100" y1="${HEIGHT}" y2="${HEIGHT}"/>${content}</svg>
`;
}

function drawLines(kind: string, lines: readonly string[][]): Markup {
  return html`${lines.map((points) => html`<polyline class="${kind}" points="${points.join(' ')}"/>`)}`;
}

/** Splits points into the parts between those without a value. */
function splitAtGaps(
  points: readonly MultiplePoint[],
  value: (point: MultiplePoint) => number | null,
): { fromMs: number; toMs: number; height: number }[][] {
  const parts: { fromMs: number; toMs: number; height: number }[][] = [[]];
  for (const point of points) {
    const height = value(point);
    if (height === null) parts.push([]);
    else parts.at(-1)?.push({ fromMs: point.fromMs, toMs: point.toMs, height });
  }
  return parts.filter(({ length }) => length > 0);
}

function round(value: number): number {
  return Number(value.toFixed(2));
}
