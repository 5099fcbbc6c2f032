import type { LabAxis, LabBars, LabFigure, LabPlot, LabSeries } from '../../lab/result.js';
import { type Axis, renderChart, toPixels } from '../html/charts/chart.js';
import { drawPolyline } from '../html/charts/curves.js';
import { drawLineSign, type LegendEntry, renderLegend } from '../html/charts/legend.js';
import { drawDot } from '../html/charts/markers.js';
import {
  createLinearScale,
  createLogScaleAround,
  listDecades,
  listMultiples,
  listPowersOfTwo,
  type Scale,
} from '../html/charts/scale.js';
import { capitalize, html, type Markup } from '../html/markup.js';
import { formatValue } from './format-value.js';

/** Margin of a logarithmic scale beyond the outermost values, as a ratio. */
const SCALE_MARGIN = 1.4;
/** Colors of the series that are not bounds, in order. */
const COLORS = ['first', 'second', 'third', 'fourth'] as const;

/** Renders a figure of a study, without a script. */
export function renderFigure(figure: LabFigure): Markup {
  return figure.kind === 'lines' ? renderPlot(figure) : renderBars(figure);
}

function renderPlot(plot: LabPlot): Markup {
  const { title, caption, series, marks } = plot;
  const points = series.flatMap((one) => one.points);
  const x = createAxis(
    plot.x,
    points.map(([value]) => value),
  );
  const y = createAxis(
    plot.y,
    points.map(([, value]) => value),
  );
  const drawn = series.filter(({ style }) => style !== 'bound');
  const chooseColor = (one: LabSeries) => COLORS[drawn.indexOf(one) % COLORS.length] ?? 'first';
  const signs = series.map(
    (one): LegendEntry => [
      one.style === 'dots'
        ? drawDot('12', 6, { kind: chooseColor(one) })
        : drawLineSign(one.style === 'bound' ? 'bound' : `line ${chooseColor(one)}`),
      one.name,
    ],
  );
  return renderChart({
    title,
    caption: `${capitalize(plot.y.name)} over ${plot.x.name}. ${caption}`,
    legend: renderLegend(signs),
    summary: describePlot(plot),
    x,
    y,
    content: series.flatMap((one) => drawSeries(one, plot, x.scale, y.scale, chooseColor(one))),
    marks: marks.map((mark) => ({ ...mark, color: 'first' })),
  });
}

function drawSeries(
  { name, style, points }: LabSeries,
  plot: LabPlot,
  x: Scale,
  y: Scale,
  color: string,
): Markup[] {
  const places = points.map(([a, b]) => [x.at(a), toPixels(y, b)] as const);
  if (style !== 'dots') {
    const line = drawPolyline(style === 'bound' ? 'bound' : `line ${color}`, places);
    return line ? [line] : [];
  }
  return points.map(([a, b], index) => {
    const title = `${name}: ${formatValue(b, plot.y.unit)} at ${formatValue(a, plot.x.unit)}`;
    return drawDot(`${places[index]?.[0]}%`, places[index]?.[1] ?? 0, { kind: color, title });
  });
}

function createAxis({ scale, unit }: LabAxis, values: number[]): Axis {
  const label = (value: number) => formatValue(value, unit);
  if (scale === 'linear') {
    const linear = createLinearScale(1.05 * Math.max(1e-9, ...values));
    return { scale: linear, ticks: listMultiples(linear), label };
  }
  const around = createLogScaleAround(values, SCALE_MARGIN);
  const ticks =
    unit === 'count' ? listPowersOfTwo(around).filter(Number.isInteger) : listDecades(around);
  return { scale: around, ticks, label };
}

/** Renders a bar chart with a color for each variant. */
function renderBars({ title, caption, unit, groups }: LabBars): Markup {
  const names = [...new Set(groups.flatMap(({ bars }) => bars.map(({ name }) => name)))];
  const highest = Math.max(
    1e-9,
    ...groups.flatMap(({ bars }) => bars.map(({ value }) => value ?? 0)),
  );
  const signs = names.map(
    (name, index): LegendEntry => [
      html`<rect class="bar ${getColor(index)}" width="24" height="12"/>`,
      name,
    ],
  );
  const rows = groups.map(
    ({ name, bars }) =>
      html`<tr><th scope="row" rowspan="${bars.length}">${name}</th>${bars.map(
        (bar, index) =>
          html`${index > 0 ? html`<tr>` : null}<td class="bar-name">${bar.name}</td><td class="bar-cell">${drawBar(bar.value, highest, getColor(names.indexOf(bar.name)))}</td><td class="bar-value">${formatValue(bar.value, unit)}</td></tr>
`,
      )}`,
  );
  return html`<figure class="plot">
<figcaption><h3>${title}</h3><p>${caption}</p>${renderLegend(signs)}</figcaption>
<table class="bars"><tbody>
${rows}</tbody></table>
</figure>`;
}

function drawBar(value: number | null, highest: number, color: string): Markup | null {
  if (value === null) return null;
  return html`<svg height="14" aria-hidden="true"><rect class="bar ${color}" width="${((100 * value) / highest).toFixed(1)}%" height="14"/></svg>`;
}

function getColor(index: number): string {
  return COLORS[index % COLORS.length] ?? 'first';
}

function describePlot({ title, series, x, y }: LabPlot): string {
  const parts = series
    .filter(({ style }) => style === 'dots')
    .map(({ name, points }) => {
      const values = points.map(
        ([a, b]) => `${formatValue(b, y.unit)} at ${formatValue(a, x.unit)}`,
      );
      return `${name}: ${values.join(', ')}`;
    });
  return `${title}. ${parts.join('. ')}`;
}
