import type { LabAxis, LabBars, LabFigure, LabPlot, LabSeries } from '../../lab/result.js';
import { type Axis, chartFigure, up } from '../html/chart.js';
import { polyline } from '../html/curves.js';
import { legend, lineSign, type Sign } from '../html/legend.js';
import { dot } from '../html/markers.js';
import { html, type Markup } from '../html/markup.js';
import {
  decades,
  linearScale,
  multiples,
  powersOfTwo,
  type Scale,
  scaleAround,
} from '../html/scale.js';
import { printed } from './numbers.js';

/** Room beside the outermost values of a logarithmic scale, as a ratio. */
const room = 1.4;
/** Colours of series that are not bounds, in their order. */
const colors = ['first', 'second', 'third', 'fourth'] as const;

/** A figure of a study, drawn without a script. */
export function labFigure(figure: LabFigure): Markup {
  return figure.kind === 'lines' ? plotFigure(figure) : barsFigure(figure);
}

function plotFigure(plot: LabPlot): Markup {
  const { title, caption, series, marks } = plot;
  const points = series.flatMap((one) => one.points);
  const x = axisOf(
    plot.x,
    points.map(([value]) => value),
  );
  const y = axisOf(
    plot.y,
    points.map(([, value]) => value),
  );
  const drawn = series.filter(({ style }) => style !== 'bound');
  const colorOf = (one: LabSeries) => colors[drawn.indexOf(one) % colors.length] ?? 'first';
  const signs = series.map(
    (one): Sign => [
      one.style === 'dots'
        ? dot('12', 6, { kind: colorOf(one) })
        : lineSign(one.style === 'bound' ? 'bound' : `line ${colorOf(one)}`),
      one.name,
    ],
  );
  return chartFigure({
    title,
    caption: `${capitalised(plot.y.name)} over ${plot.x.name}. ${caption}`,
    legend: legend(signs),
    summary: inWords(plot),
    x,
    y,
    content: series.flatMap((one) => seriesMarkup(one, plot, x.scale, y.scale, colorOf(one))),
    marks: marks.map((mark) => ({ ...mark, color: 'first' })),
  });
}

function seriesMarkup(
  { name, style, points }: LabSeries,
  plot: LabPlot,
  x: Scale,
  y: Scale,
  color: string,
): Markup[] {
  const places = points.map(([a, b]) => [x.at(a), up(y, b)] as const);
  if (style !== 'dots') {
    const line = polyline(style === 'bound' ? 'bound' : `line ${color}`, places);
    return line ? [line] : [];
  }
  return points.map(([a, b], index) => {
    const title = `${name}: ${printed(b, plot.y.unit)} at ${printed(a, plot.x.unit)}`;
    return dot(`${places[index]?.[0]}%`, places[index]?.[1] ?? 0, { kind: color, title });
  });
}

function axisOf({ scale, unit }: LabAxis, values: number[]): Axis {
  const label = (value: number) => printed(value, unit);
  if (scale === 'linear') {
    const linear = linearScale(1.05 * Math.max(1e-9, ...values));
    return { scale: linear, ticks: multiples(linear), label };
  }
  const around = scaleAround(values, room);
  const ticks = unit === 'count' ? powersOfTwo(around).filter(Number.isInteger) : decades(around);
  return { scale: around, ticks, label };
}

/** The most bars in a group that are drawn: one colour each. */
function barsFigure({ title, caption, unit, groups }: LabBars): Markup {
  const names = [...new Set(groups.flatMap(({ bars }) => bars.map(({ name }) => name)))];
  const most = Math.max(1e-9, ...groups.flatMap(({ bars }) => bars.map(({ value }) => value ?? 0)));
  const signs = names.map(
    (name, index): Sign => [
      html`<rect class="bar ${colorAt(index)}" width="24" height="12"/>`,
      name,
    ],
  );
  const rows = groups.map(
    ({ name, bars }) =>
      html`<tr><th scope="row" rowspan="${bars.length}">${name}</th>${bars.map(
        (bar, index) =>
          html`${index > 0 ? html`<tr>` : null}<td class="bar-name">${bar.name}</td><td class="bar-cell">${barMarkup(bar.value, most, colorAt(names.indexOf(bar.name)))}</td><td class="bar-value">${printed(bar.value, unit)}</td></tr>
`,
      )}`,
  );
  return html`<figure class="plot">
<figcaption><h3>${title}</h3><p>${caption}</p>${legend(signs)}</figcaption>
<table class="bars"><tbody>
${rows}</tbody></table>
</figure>`;
}

function barMarkup(value: number | null, most: number, color: string): Markup | null {
  if (value === null) return null;
  return html`<svg height="14" aria-hidden="true"><rect class="bar ${color}" width="${((100 * value) / most).toFixed(1)}%" height="14"/></svg>`;
}

function colorAt(index: number): string {
  return colors[index % colors.length] ?? 'first';
}

function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function inWords({ title, series, x, y }: LabPlot): string {
  const parts = series
    .filter(({ style }) => style === 'dots')
    .map(({ name, points }) => {
      const values = points.map(([a, b]) => `${printed(b, y.unit)} at ${printed(a, x.unit)}`);
      return `${name}: ${values.join(', ')}`;
    });
  return `${title}. ${parts.join('. ')}`;
}
