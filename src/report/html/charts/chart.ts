import { html, type Markup } from '../markup.js';
import type { Scale } from './scale.js';

/**
 * A chart that needs no script. Horizontal positions are in percent, so that its width follows the page; vertical positions
 * are in pixels.
 */
export interface Chart {
  title: string;
  /** Explanation of what the chart shows. */
  caption: string;
  /** Meaning of the signs, if there are several kinds. */
  legend?: Markup;
  /** Text alternative: the chart in a sentence. */
  summary: string;
  x: Axis;
  y: Axis;
  /** SVG content, positioned by `x.scale.at` (percent) and `toPixels` (pixels). */
  content: Markup[];
  /** Labelled vertical lines. */
  marks: ChartMark[];
}

/** An axis of a chart. */
export interface Axis {
  scale: Scale;
  ticks: number[];
  label(value: number): string;
  /** Whether a tick has no label where there is little room. */
  isMinor?(value: number): boolean;
}

/** A labelled vertical line. */
export interface ChartMark {
  x: number;
  label: string;
  color: 'first' | 'muted';
}

/** Height of a chart in pixels. */
export const CHART_HEIGHT = 264;
/** Top and bottom of the plotting area in pixels. Labels of marks are above it, in two rows. */
export const AREA_TOP = 40;
export const AREA_BOTTOM = 236;

/** Converts a value into a distance from the top, in pixels. */
export function toPixels(scale: Scale, value: number): number {
  return Number((AREA_BOTTOM - (scale.at(value) / 100) * (AREA_BOTTOM - AREA_TOP)).toFixed(1));
}

/** Renders a chart as a figure. */
export function renderChart(chart: Chart): Markup {
  const { title, caption, legend = null, summary, x, y, content, marks } = chart;
  const levels = y.ticks.map((tick) => ({ label: y.label(tick), at: toPixels(y.scale, tick) }));
  return html`<figure class="plot">
<figcaption><h3>${title}</h3><p>${caption}</p>${legend}</figcaption>
<div class="chart" role="img" aria-label="${summary}">
<svg class="levels" height="${CHART_HEIGHT}">${levels.map(({ label, at }) => html`<text x="100%" y="${at + 4}" text-anchor="end">${label}</text>`)}</svg>
<svg class="area" height="${CHART_HEIGHT}">
${levels.map(({ at }) => html`<line class="grid" x1="0" x2="100%" y1="${at}" y2="${at}"/>`)}
${x.ticks.map((tick) => drawTick(x, tick))}
${content}
${marks.filter((mark) => isWithin(x.scale, mark.x)).map((mark, index) => drawMark(x.scale, mark, index))}
</svg>
</div>
</figure>`;
}

function isWithin({ low, high }: Scale, value: number): boolean {
  return value >= low && value <= high;
}

function drawTick({ scale, label, isMinor }: Axis, tick: number): Markup {
  const at = scale.at(tick);
  const text = label(tick);
  return html`<line class="grid" x1="${at}%" x2="${at}%" y1="${AREA_TOP}" y2="${AREA_BOTTOM}"/><text class="${isMinor?.(tick) ? 'tick minor' : 'tick'}" x="${at}%" y="${AREA_BOTTOM + 18}" text-anchor="${chooseAnchor(at, Math.max(6, text.length + 1))}">${text}</text>`;
}

function drawMark(scale: Scale, { x, label, color }: ChartMark, index: number): Markup {
  const at = scale.at(x);
  const y = 14 + (index % 2) * 16;
  return html`<line class="mark ${color}" x1="${at}%" x2="${at}%" y1="${y + 5}" y2="${AREA_BOTTOM}"/><text class="${color}" x="${at}%" y="${y}" text-anchor="${chooseAnchor(at, 22)}">${label}</text>
`;
}

/** Chooses the anchor of a label: a label closer to an end than `near` percent must not leave the area. */
function chooseAnchor(at: number, near: number): 'start' | 'middle' | 'end' {
  if (at < near) return 'start';
  return at > 100 - near ? 'end' : 'middle';
}
