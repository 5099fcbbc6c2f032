import type { ComparisonResult, ComparisonRow } from '../../../compare/result.js';
import { toEqualRange } from '../../../compare/rows/words.js';
import { drawDot } from '../../html/charts/markers.js';
import { drawRange } from '../../html/charts/ranges.js';
import { createLinearScaleBetween, listMultiples, type Scale } from '../../html/charts/scale.js';
import { html, type Markup } from '../../html/markup.js';
import { formatCells, formatChange } from '../metrics.js';
import type { NamedRows } from '../names.js';

const ROW_HEIGHT = 30;
const MIDDLE = ROW_HEIGHT / 2;
/** Upper end of the axis of ratios; intervals beyond it end at the edge. */
const MAX_RATIO = 3;
/** Lines within this part of the axis from its ends have no label, as it would be cut off. */
const EDGE_PERCENT = 8;

/** Renders rows with their intervals drawn on one axis of ratios; `null` without a row. */
export function renderRatioTable(
  caption: string,
  result: ComparisonResult,
  groups: NamedRows[],
): Markup | null {
  const rows = groups.flatMap((group) => group.rows);
  if (rows.length === 0) return null;
  const axis = createAxis(rows, result.margin);
  return html`<table class="data ratios">
<caption>${caption}</caption>
<thead><tr><th scope="col"></th><th scope="col">A</th><th scope="col">B</th><th scope="col">B / A</th><td class="drawn">${drawAxis(axis)}</td><th scope="col"></th></tr></thead>
${groups.map((group) => renderGroup(group, axis))}</table>`;
}

/** The axis of ratios, its lines, and the band in which two versions count as equal. */
interface RatioAxis {
  scale: Scale;
  lines: number[];
  margin: number;
}

function createAxis(rows: ComparisonRow[], margin: number): RatioAxis {
  const ends = rows.flatMap(({ ratio }) =>
    ratio ? [ratio.estimate, ratio.low ?? ratio.estimate, ratio.high ?? ratio.estimate] : [],
  );
  const low = Math.min(1 - 2 * margin, ...ends);
  const high = Math.min(MAX_RATIO, Math.max(1 + 2 * margin, ...ends));
  const room = (high - low) / 20;
  const scale = createLinearScaleBetween(low - room, high + room);
  const changes = createLinearScaleBetween(scale.low - 1, scale.high - 1);
  return { scale, lines: listMultiples(changes).map((change) => 1 + change), margin };
}

function drawAxis({ scale, lines }: RatioAxis): Markup {
  const labelled = lines.filter((line) => {
    const at = scale.at(line);
    return at >= EDGE_PERCENT && at <= 100 - EDGE_PERCENT;
  });
  return html`<svg height="18">${labelled.map((line) => html`<text x="${scale.at(line)}%" y="13" text-anchor="middle">${formatChange(line)}</text>`)}</svg>`;
}

function renderGroup({ name, rows }: NamedRows, axis: RatioAxis): Markup {
  const head =
    name === ''
      ? null
      : html`<tr class="name"><th scope="rowgroup" colspan="6"><code>${name}</code></th></tr>
`;
  return html`<tbody>
${head}${rows.map((row) => renderRow(row, axis))}</tbody>
`;
}

function renderRow(row: ComparisonRow, axis: RatioAxis): Markup {
  const { name, figures, ratio, interval, word } = formatCells(row);
  const cells = figures.map((figure) => html`<td>${figure}</td>`);
  return html`<tr><th scope="row">${name}</th>${cells}<td>${ratio}<small>${interval}</small></td><td class="drawn">${drawRow(row.ratio, axis)}</td><td class="word ${row.verdict}">${word}</td></tr>
`;
}

function drawRow(ratio: ComparisonRow['ratio'], { scale, lines, margin }: RatioAxis): Markup {
  const ground = lines.map((line) => {
    const at = scale.at(line);
    return html`<line class="${line === 1 ? 'one' : 'grid'}" x1="${at}%" x2="${at}%" y1="0" y2="${ROW_HEIGHT}"/>`;
  });
  return html`<svg height="${ROW_HEIGHT}" aria-hidden="true">${drawRange('equal', toEqualRange(margin), scale, { y: 0, height: ROW_HEIGHT })}${ground}${ratio && drawInterval(ratio, scale)}</svg>`;
}

function drawInterval(
  { estimate, low, high }: NonNullable<ComparisonRow['ratio']>,
  scale: Scale,
): Markup {
  const bar =
    low === null || high === null
      ? null
      : html`<line class="spread" x1="${scale.at(low)}%" x2="${scale.at(high)}%" y1="${MIDDLE}" y2="${MIDDLE}"/>`;
  return html`${bar}${drawDot(`${scale.at(estimate)}%`, MIDDLE, {})}`;
}
