// Draws the plots of a page (their data: html/plot.ts) with uPlot. Runs in the browser, in one script with uPlot and the
// functions of format/units.ts and html/scale.ts.
/* global uPlot, bytes, cores, duration, listDecades, percentile, rate, roundTime, time */

const HEIGHT = 220;
const PRINTED_WIDTH = 680;

/** uPlot's number of a logarithmic scale. */
const LOGARITHMIC = 3;

const units = {
  time: { axis: roundTime, value: time },
  rate: { axis: rate, value: (value) => `${rate(value)} req/s` },
  cores: { axis: String, value: (value) => `${cores(value)} cores` },
  megabytes: { axis: (value) => `${value} MB`, value: (value) => bytes(value * 1e6) },
};

const axes = {
  time: { label: 'time', axis: formatInstant, value: formatInstant },
  percentile: {
    label: 'percentile',
    axis: (x) => `${toPercentile(x)} %`,
    value: (x) => percentile(toPercentile(x)),
  },
};

const plots = JSON.parse(document.getElementById('plots').textContent);
let drawn = [];

/** Formats seconds since the start of the measurement, to the millisecond in the first minute. */
function formatInstant(x) {
  return x < 60 ? `${Number(x.toFixed(3))} s` : duration(x * 1000);
}

/** Converts a position on the axis where each further nine is one unit to a percentile. */
function toPercentile(x) {
  return Number((100 - 100 * 10 ** -x).toFixed(Math.max(0, Math.ceil(x))));
}

function draw(width) {
  for (const chart of drawn) chart.destroy();
  drawn = plots.map((plot) => {
    const container = document.getElementById(`plot-${plot.id}`);
    const data = [plot.x, ...plot.series.map((series) => series.values)];
    return new uPlot(buildOptions(plot, width ?? container.clientWidth), data, container);
  });
}

function buildOptions(plot, width) {
  const color = readColors();
  const onTime = plot.axis === 'time';
  return {
    width,
    height: HEIGHT,
    padding: [12, onTime ? 16 : 28, 0, 0],
    cursor: {
      y: false,
      dataIdx: plot.series.some((series) => series.stepped) ? findWindow : undefined,
      drag: { x: true, y: false },
      ...(onTime && { sync: { key: 'time', scales: ['x', null] } }),
    },
    legend: { markers: { width: 3, dash: (_, index) => chooseDash(plot.series[index - 1]) } },
    scales: { x: buildXScale(plot), y: buildYScale(plot) },
    axes: [buildXAxis(plot, color), buildYAxis(plot, color)],
    series: [
      { label: axes[plot.axis].label, value: (_, x) => formatValue(axes[plot.axis].value, x) },
      ...plot.series.map((series) => buildSeries(series, plot, color)),
    ],
  };
}

/** Finds the window under the cursor, rather than the nearest start of a window. */
function findWindow(chart, _, nearest, x) {
  const pixel = chart.posToVal(1, 'x') - chart.posToVal(0, 'x');
  return nearest > 0 && chart.data[0][nearest] > x + pixel ? nearest - 1 : nearest;
}

function chooseDash(series) {
  return series?.dashed ? 'dashed' : 'solid';
}

function buildSeries(series, plot, color) {
  return {
    label: series.label,
    value: (_, value) => formatValue(units[plot.unit].value, value),
    stroke: color[series.color],
    fill: series.filled ? color.fill : undefined,
    width: 2,
    dash: series.dashed ? [6, 4] : undefined,
    paths: series.stepped ? uPlot.paths.stepped({ align: 1, alignGaps: 1 }) : undefined,
    points: { show: false },
  };
}

/** Shows the whole axis unless zoomed, so that plots whose data ends earlier stay aligned with the others. */
function buildXScale({ x, end }) {
  const all = (from, to) => from <= x[0] && to >= x.at(-1);
  return { time: false, range: (_, from, to) => (all(from, to) ? [0, end || 1] : [from, to]) };
}

/** A linear scale starts at zero, so that heights can be compared. */
function buildYScale(plot) {
  if (plot.log) return { distr: LOGARITHMIC, range: computeLogRange };
  return { range: (_, __, high) => [0, uPlot.rangeNum(0, high || 1, 0.1, true)[1]] };
}

/** Computes the range of a logarithmic scale. Zooming into a gap leaves no values. */
function computeLogRange(_, low, high) {
  return low > 0 ? [low / 1.3, high * 1.3] : [1, 10];
}

function buildXAxis(plot, color) {
  const axis = {
    ...buildAxisStyle(color),
    space: 60,
    size: 30,
    values: (_, ticks) => ticks.map((tick) => axes[plot.axis].axis(tick)),
  };
  if (plot.axis === 'percentile') axis.splits = listNines;
  return axis;
}

function listNines(chart, _, from, to) {
  const all = [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7, 8, 9];
  const roomForMedian = chart.width > 600;
  return all.filter((x) => x >= from && x <= to && (Number.isInteger(x) || roomForMedian));
}

function buildYAxis(plot, color) {
  const axis = {
    ...buildAxisStyle(color),
    // All plots have the same width, so that their time axes are aligned.
    size: 76,
    values: (_, ticks) => ticks.map((tick) => formatTick(tick, units[plot.unit].axis)),
  };
  return plot.log
    ? {
        ...axis,
        splits: (_, __, low, high) => listDecades({ low, high }),
        filter: (_, ticks) => ticks,
      }
    : axis;
}

function formatTick(tick, format) {
  if (tick === null) return '';
  return tick === 0 ? '0' : format(tick);
}

function buildAxisStyle(color) {
  return {
    stroke: color.muted,
    font: '12px system-ui, sans-serif',
    grid: { stroke: color.grid, width: 1 },
    ticks: { stroke: color.grid, width: 1, size: 4 },
  };
}

function formatValue(format, value) {
  return value === null || value === undefined ? '–' : format(value);
}

/** Reads the colors of the style sheet in the current color scheme. */
function readColors() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    first: color('first'),
    second: color('second'),
    error: color('error'),
    fill: color('fill'),
    muted: color('muted'),
    grid: color('grid'),
  };
}

/** Handles keys: arrows move the cursor, Escape resets the zoom. */
function onKey(event) {
  const chart = drawn.find(({ root }) => event.currentTarget.contains(root));
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === 'Escape') for (const one of drawn) one.setData(one.data);
  if (!chart || !step) return;
  event.preventDefault();
  const xs = chart.data[0];
  const index = Math.min(xs.length - 1, Math.max(0, (chart.cursor.idxs[0] ?? -1) + step));
  chart.setCursor({ left: chart.valToPos(xs[index], 'x'), top: 0 }, true, true);
}

function fit() {
  for (const chart of drawn) {
    const width = chart.root.parentElement.clientWidth;
    if (width > 0 && width !== chart.width) chart.setSize({ width, height: HEIGHT });
  }
}

for (const canvas of document.querySelectorAll('.canvas'))
  canvas.addEventListener('keydown', onKey);
draw();
addEventListener('resize', fit);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw());
addEventListener('beforeprint', () => draw(PRINTED_WIDTH));
addEventListener('afterprint', () => draw());
