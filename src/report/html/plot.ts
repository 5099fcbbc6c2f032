import { html, type Markup } from './markup.js';

/** An interactive plot, drawn in the browser by assets/plots.js. */
export interface Plot {
  /** Unique in the page. */
  id: string;
  title: string;
  /** Explanation of what the plot shows. */
  caption: string;
  /** Text alternative: the plot in a sentence. */
  summary: string;
  /** `time`: x in seconds, with a cursor shared by all such plots. `percentile`: x as computed by `toNines`. */
  axis: 'time' | 'percentile';
  /** Format of the values. */
  unit: 'time' | 'rate' | 'cores' | 'megabytes';
  /** Whether the y axis is logarithmic. */
  log: boolean;
  x: number[];
  /** End of the x axis, which starts at 0. */
  end: number;
  series: Series[];
}

/** A line of a plot: a value for each x. */
export interface Series {
  label: string;
  values: (number | null)[];
  color: 'first' | 'second' | 'error';
  /** Whether a value applies to the window up to the next x, not to a point. */
  stepped: boolean;
  dashed: boolean;
  filled: boolean;
}

/**
 * Converts a percentile to HdrHistogram's axis, on which each further nine is one unit: 0 -> 0, 90 -> 1, 99 -> 2, 99.9 -> 3.
 * The largest of `count` samples represents the last 1 / count of them.
 */
export function toNines(percentile: number, count: number): number {
  return -Math.log10(Math.max(1 - percentile / 100, 1 / Math.max(2, count)));
}

/** Ratio of maximum to median from which on the y axis is logarithmic, as a linear one would show a flat line. */
const LOG_SCALE_RATIO = 20;

/** Whether the values of some lines are only readable on a logarithmic y axis. */
export function needsLogScale(series: Series[]): boolean {
  const values = series.flatMap((one) => one.values).filter((value) => value !== null);
  const sorted = values.sort((a, b) => a - b);
  const [lowest = 0, median = 0, highest = 0] = [
    sorted[0],
    sorted[sorted.length >> 1],
    sorted.at(-1),
  ];
  return lowest > 0 && highest > LOG_SCALE_RATIO * median;
}

/** Renders the figure that plots.js draws a plot into. */
export function renderPlot(plot: Plot): Markup {
  const scale = plot.log ? ' Logarithmic scale.' : '';
  return html`<figure class="plot">
<figcaption><h3>${plot.title}</h3><p>${plot.caption}${scale}</p></figcaption>
<div class="canvas" id="plot-${plot.id}" tabindex="0" role="img" aria-label="${plot.summary}"></div>
</figure>`;
}
