import { html, type Markup } from './markup.js';

/** A plot of a page, drawn in the browser by assets/plots.js. */
export interface Plot {
  /** Unique in the page. */
  id: string;
  title: string;
  /** What is drawn, from which clock, in which windows. */
  caption: string;
  /** The plot in a sentence, for those who do not see it. */
  summary: string;
  /** `time`: x in seconds, with a cursor shared by all such plots. `percentile`: x as `nines` gives it. */
  axis: 'time' | 'percentile';
  /** How values are printed. */
  unit: 'time' | 'rate' | 'cores' | 'megabytes';
  /** A logarithmic y axis. */
  log: boolean;
  x: number[];
  /** Where the x axis ends; it starts at 0. */
  end: number;
  series: Series[];
}

/** A line of a plot: a value for each x. */
export interface Series {
  label: string;
  values: (number | null)[];
  color: 'first' | 'second' | 'error';
  /** Holds for a window of time up to the next x, instead of at a point. */
  stepped: boolean;
  dashed: boolean;
  filled: boolean;
}

/**
 * A percentile on HdrHistogram's axis, where each further nine is one unit: 0 -> 0, 90 -> 1, 99 -> 2, 99.9 -> 3. The largest of
 * `count` samples stands for the last 1 / count of them.
 */
export function toNines(percentile: number, count: number): number {
  return -Math.log10(Math.max(1 - percentile / 100, 1 / Math.max(2, count)));
}

/** The place of a plot in the page. */
export function renderPlot(plot: Plot): Markup {
  const scale = plot.log ? ' Logarithmic scale.' : '';
  return html`<figure class="plot">
<figcaption><h3>${plot.title}</h3><p>${plot.caption}${scale}</p></figcaption>
<div class="canvas" id="plot-${plot.id}" tabindex="0" role="img" aria-label="${plot.summary}"></div>
</figure>`;
}
