import { html, type Markup } from './markup.js';
import type { Scale } from './scale.js';

/**
 * A chart that needs no script: its width follows the page, as everything across is in percent, and everything up is in
 * pixels.
 */
export interface Chart {
  title: string;
  /** What is drawn. */
  caption: string;
  /** What its marks stand for, where there are several kinds. */
  legend?: Markup;
  /** The chart in a sentence, for those who do not see it. */
  summary: string;
  x: Axis;
  y: Axis;
  /** What is drawn into it: SVG whose places come from `x.scale.at` (percent) and `up` (pixels). */
  content: Markup[];
  /** Vertical lines with a label. */
  marks: Mark[];
}

export interface Axis {
  scale: Scale;
  ticks: number[];
  label(value: number): string;
}

export interface Mark {
  x: number;
  label: string;
  color: 'first' | 'muted';
}

export const height = 264;
/** Labels of marks stand above the area, the second one in a row of its own. */
export const top = 40;
export const bottom = 236;

/** The place of a value from the top, in pixels. */
export function up(scale: Scale, value: number): number {
  return Number((bottom - (scale.at(value) / 100) * (bottom - top)).toFixed(1));
}

export function chartFigure(chart: Chart): Markup {
  const { title, caption, legend = null, summary, x, y, content, marks } = chart;
  const levels = y.ticks.map((tick) => ({ label: y.label(tick), at: up(y.scale, tick) }));
  return html`<figure class="plot">
<figcaption><h3>${title}</h3><p>${caption}</p>${legend}</figcaption>
<div class="chart" role="img" aria-label="${summary}">
<svg class="levels" height="${height}">${levels.map(({ label, at }) => html`<text x="100%" y="${at + 4}" text-anchor="end">${label}</text>`)}</svg>
<svg class="area" height="${height}">
${levels.map(({ at }) => html`<line class="grid" x1="0" x2="100%" y1="${at}" y2="${at}"/>`)}
${x.ticks.map((tick) => tickMark(x, tick))}
${content}
${marks.filter((mark) => within(x.scale, mark.x)).map((mark, index) => markLine(x.scale, mark, index))}
</svg>
</div>
</figure>`;
}

function within({ low, high }: Scale, value: number): boolean {
  return value >= low && value <= high;
}

function tickMark({ scale, label }: Axis, tick: number): Markup {
  const at = scale.at(tick);
  return html`<line class="grid" x1="${at}%" x2="${at}%" y1="${top}" y2="${bottom}"/><text x="${at}%" y="${bottom + 18}" text-anchor="${anchor(at, 6)}">${label(tick)}</text>`;
}

function markLine(scale: Scale, { x, label, color }: Mark, index: number): Markup {
  const at = scale.at(x);
  const y = 14 + (index % 2) * 16;
  return html`<line class="mark ${color}" x1="${at}%" x2="${at}%" y1="${y + 5}" y2="${bottom}"/><text class="${color}" x="${at}%" y="${y}" text-anchor="${anchor(at, 22)}">${label}</text>
`;
}

/** A label nearer to an end than so many percent stands beside its place, within the area. */
function anchor(at: number, near: number): 'start' | 'middle' | 'end' {
  if (at < near) return 'start';
  return at > 100 - near ? 'end' : 'middle';
}
