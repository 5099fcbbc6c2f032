// Draws the plots of a page (see html/plot.ts for their data) with uPlot. Runs in the browser, in one script with uPlot and
// with the functions of units.ts.
/* global uPlot, bytes, cores, duration, percentile, rate, roundTime, time */

const height = 220;
const printedWidth = 680;

/** uPlot's number for a logarithmic scale. */
const logarithmic = 3;

const units = {
  time: { axis: roundTime, value: time },
  rate: { axis: rate, value: (value) => `${rate(value)} req/s` },
  cores: { axis: String, value: (value) => `${cores(value)} cores` },
  megabytes: { axis: (value) => `${value} MB`, value: (value) => bytes(value * 1e6) },
};

const axes = {
  time: { label: 'time', axis: instant, value: instant },
  percentile: {
    label: 'percentile',
    axis: (x) => `${percentileAt(x)} %`,
    value: (x) => percentile(percentileAt(x)),
  },
};

const plots = JSON.parse(document.getElementById('plots').textContent);
let drawn = [];

/** Seconds from the start of the measurement; to the millisecond in the first minute. */
function instant(x) {
  return x < 60 ? `${Number(x.toFixed(3))} s` : duration(x * 1000);
}

/** The percentile at a place on the axis where each further nine is one unit. */
function percentileAt(x) {
  return Number((100 - 100 * 10 ** -x).toFixed(Math.max(0, Math.ceil(x))));
}

function draw(width) {
  for (const chart of drawn) chart.destroy();
  drawn = plots.map((plot) => {
    const place = document.getElementById(`plot-${plot.id}`);
    const data = [plot.x, ...plot.series.map((series) => series.values)];
    return new uPlot(options(plot, width ?? place.clientWidth), data, place);
  });
}

function options(plot, width) {
  const color = palette();
  const onTime = plot.axis === 'time';
  return {
    width,
    height,
    padding: [12, onTime ? 16 : 28, 0, 0],
    cursor: {
      y: false,
      dataIdx: plot.series.some((series) => series.stepped) ? windowAt : undefined,
      drag: { x: true, y: false },
      ...(onTime && { sync: { key: 'time', scales: ['x', null] } }),
    },
    legend: { markers: { width: 3, dash: (_, index) => dash(plot.series[index - 1]) } },
    scales: { x: xScale(plot), y: yScale(plot) },
    axes: [xAxis(plot, color), yAxis(plot, color)],
    series: [
      { label: axes[plot.axis].label, value: (_, x) => shown(axes[plot.axis].value, x) },
      ...plot.series.map((series) => line(series, plot, color)),
    ],
  };
}

/** The window that the cursor is in, not the start that it is nearest to. */
function windowAt(chart, _, nearest, x) {
  const pixel = chart.posToVal(1, 'x') - chart.posToVal(0, 'x');
  return nearest > 0 && chart.data[0][nearest] > x + pixel ? nearest - 1 : nearest;
}

function dash(series) {
  return series?.dashed ? 'dashed' : 'solid';
}

function line(series, plot, color) {
  return {
    label: series.label,
    value: (_, value) => shown(units[plot.unit].value, value),
    stroke: color[series.color],
    fill: series.filled ? color.fill : undefined,
    width: 2,
    dash: series.dashed ? [6, 4] : undefined,
    paths: series.stepped ? uPlot.paths.stepped({ align: 1, alignGaps: 1 }) : undefined,
    points: { show: false },
  };
}

/** All of the axis, if not zoomed: a plot whose data ends earlier keeps in line with the others. */
function xScale({ x, end }) {
  const all = (from, to) => from <= x[0] && to >= x.at(-1);
  return { time: false, range: (_, from, to) => (all(from, to) ? [0, end || 1] : [from, to]) };
}

/** From zero, so that heights compare; a logarithmic scale has no zero. */
function yScale(plot) {
  if (plot.log) return { distr: logarithmic, range: logRange };
  return { range: (_, __, most) => [0, uPlot.rangeNum(0, most || 1, 0.1, true)[1]] };
}

/** A zoom into a gap leaves no value to show. */
function logRange(_, least, most) {
  return least > 0 ? [least / 1.3, most * 1.3] : [1, 10];
}

function xAxis(plot, color) {
  const axis = {
    ...axisStyle(color),
    space: 60,
    size: 30,
    values: (_, ticks) => ticks.map((tick) => axes[plot.axis].axis(tick)),
  };
  if (plot.axis === 'percentile') axis.splits = nines;
  return axis;
}

function nines(chart, _, from, to) {
  const all = [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7, 8, 9];
  const roomForMedian = chart.width > 600;
  return all.filter((x) => x >= from && x <= to && (Number.isInteger(x) || roomForMedian));
}

function yAxis(plot, color) {
  const axis = {
    ...axisStyle(color),
    // One width for all plots: their time axes are above each other.
    size: 76,
    values: (_, ticks) => ticks.map((tick) => tickLabel(tick, units[plot.unit].axis)),
  };
  return plot.log ? { ...axis, splits: decades, filter: (_, ticks) => ticks } : axis;
}

/** 1, 10, 100, ...; with 2 and 5 between them where there are few. */
function decades(_, __, least, most) {
  const rungs = most / least > 1000 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let decade = Math.floor(Math.log10(least)); 10 ** decade <= most; decade += 1) {
    ticks.push(...rungs.map((rung) => Number(`${rung}e${decade}`)));
  }
  return ticks.filter((tick) => tick >= least && tick <= most);
}

function tickLabel(tick, format) {
  if (tick === null) return '';
  return tick === 0 ? '0' : format(tick);
}

function axisStyle(color) {
  return {
    stroke: color.muted,
    font: '12px system-ui, sans-serif',
    grid: { stroke: color.grid, width: 1 },
    ticks: { stroke: color.grid, width: 1, size: 4 },
  };
}

function shown(format, value) {
  return value === null || value === undefined ? '–' : format(value);
}

/** The colours of the style sheet, in the scheme that holds. */
function palette() {
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

/** Arrow keys move the cursor, Escape shows all again: what the mouse does. */
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
    if (width > 0 && width !== chart.width) chart.setSize({ width, height });
  }
}

for (const place of document.querySelectorAll('.canvas')) place.addEventListener('keydown', onKey);
draw();
addEventListener('resize', fit);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw());
addEventListener('beforeprint', () => draw(printedWidth));
addEventListener('afterprint', () => draw());
