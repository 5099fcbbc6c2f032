import {
  bytes,
  cores,
  duration,
  percentile,
  rate,
  roundRate,
  roundTime,
  time,
} from '../../format/units.js';
import { type Axis, renderChart } from './charts/chart.js';
import { drawAreaSign, drawLineSign, renderLegend } from './charts/legend.js';
import { drawReadings } from './charts/readings.js';
import {
  createLinearScale,
  createLogScaleAround,
  listDecades,
  listInstants,
  listMultiples,
  type Scale,
} from './charts/scale.js';
import { drawSeries, type Series } from './charts/series.js';
import { html, type Markup } from './markup.js';

/** Lines over time or over percentiles. */
export interface Plot {
  title: string;
  /** Explanation of what the plot shows. */
  caption: string;
  /** Text alternative: the plot in a sentence. */
  summary: string;
  /** `time`: x in seconds. `percentile`: x as computed by `toNines`. */
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

/** How values are written: at an axis, and where one of them is read. */
const UNITS = {
  time: { tick: roundTime, value: time },
  rate: { tick: roundRate, value: (value: number) => `${rate(value)} req/s` },
  cores: { tick: String, value: (value: number) => `${cores(value)} cores` },
  megabytes: {
    tick: (value: number) => (value < 1000 ? `${value} MB` : `${value / 1000} GB`),
    value: (value: number) => bytes(value * 1e6),
  },
};

/** Ratio of maximum to median from which on the y axis is logarithmic, as a linear one would show a flat line. */
const LOG_SCALE_RATIO = 20;
/** Space above the highest value, as a ratio. */
const LINEAR_MARGIN = 1.08;
const LOG_MARGIN = 1.3;

/**
 * Converts a percentile to HdrHistogram's axis, on which each further nine is one unit: 0 -> 0, 90 -> 1, 99 -> 2, 99.9 -> 3.
 * The largest of `count` samples represents the last 1 / count of them.
 */
export function toNines(value: number, count: number): number {
  return -Math.log10(Math.max(1 - value / 100, 1 / Math.max(2, count)));
}

/** Converts back from `toNines`. */
function toPercentile(nines: number): number {
  return Number((100 - 100 * 10 ** -nines).toFixed(Math.max(0, Math.ceil(nines))));
}

/** Whether the values of some lines are only readable on a logarithmic y axis. */
export function needsLogScale(series: Series[]): boolean {
  const sorted = listValues(series).sort((a, b) => a - b);
  const [lowest = 0, median = 0, highest = 0] = [
    sorted[0],
    sorted[sorted.length >> 1],
    sorted.at(-1),
  ];
  return lowest > 0 && highest > LOG_SCALE_RATIO * median;
}

/** Renders a plot as a figure. */
export function renderPlot(plot: Plot): Markup {
  const { title, caption, summary, log, series, unit } = plot;
  const x = createXAxis(plot);
  const y = createYAxis(plot);
  return renderChart({
    title,
    caption: `${caption}${log ? ' Logarithmic scale.' : ''}`,
    legend: renderLegend(
      series.map((one) => [
        html`${one.filled ? drawAreaSign('fill') : null}${drawLineSign(chooseKind(one))}`,
        one.label,
      ]),
    ),
    summary,
    x,
    y,
    content: [
      ...series.flatMap((one) => drawSeries(chooseKind(one), plot.x, one, x.scale, y.scale)),
      ...drawReadings(plot.x, series, x.scale, {
        at: plot.axis === 'time' ? formatInstant : (nines) => percentile(toPercentile(nines)),
        value: UNITS[unit].value,
      }),
    ],
    marks: [],
  });
}

function chooseKind({ color, dashed }: Series): string {
  return `line ${color}${dashed ? ' dashed' : ''}`;
}

function createXAxis({ axis, end }: Plot): Axis {
  const scale = createLinearScale(end || 1);
  if (axis === 'time') {
    const ticks = listInstants(scale);
    // Where there is little room, every second of many instants has no label.
    const isMinor = (seconds: number) => ticks.length > 4 && ticks.indexOf(seconds) % 2 === 1;
    return { scale, ticks, label: formatInstant, isMinor };
  }
  const ticks = listNines(scale);
  return {
    scale,
    ticks,
    label: (nines) => `${toPercentile(nines)} %`,
    // Where there is little room, 50 % and every second nine have no label.
    isMinor: (nines) => !Number.isInteger(nines) || (ticks.length > 5 && nines % 2 === 1),
  };
}

/** Lists 0, 50, 90, 99, 99.9 % and so on. */
function listNines({ high }: Scale): number[] {
  const nines = Array.from({ length: Math.floor(high) }, (_, index) => index + 1);
  return [0, Math.log10(2), ...nines].filter((tick) => tick <= high);
}

/** Creates the axis of values. A linear one begins at zero, so that heights can be compared. */
function createYAxis({ log, series, unit }: Plot): Axis {
  const values = listValues(series);
  const scale = log
    ? createLogScaleAround(values, LOG_MARGIN)
    : createLinearScale(LINEAR_MARGIN * Math.max(0, ...values) || 1);
  const { tick } = UNITS[unit];
  return {
    scale,
    ticks: log ? listDecades(scale) : listMultiples(scale),
    label: (value) => (value === 0 ? '0' : tick(value)),
  };
}

function listValues(series: Series[]): number[] {
  return series.flatMap(({ values }) => values).filter((value) => value !== null);
}

/** Formats seconds since the start of the measurement, to the millisecond in the first minute. */
function formatInstant(seconds: number): string {
  return seconds < 60 ? `${Number(seconds.toFixed(3))} s` : duration(seconds * 1000);
}
