import type { LimitId } from '../../../explain/limits/ids.js';
import type { ExperimentResult, Explanation } from '../../../explain/result.js';
import { factor, measuredRatio } from '../../../format/ratios.js';
import { plural } from '../../../format/units.js';
import type { Range } from '../../../statistics/types.js';
import { html, type Markup } from '../../html/markup.js';
import { logScale, powersOfTwo, type Scale } from '../../html/scale.js';

/** Predictions further away than this ratio from all that was measured end at the edge. */
const reach = 4;
const rowHeight = 38;
const middle = rowHeight / 2;
/** Half the height of a prediction's bar. */
const thick = 5;

/** What was changed, what each limit predicted, and what came out: a forest plot on one logarithmic axis of ratios. */
export function forestTable({ experiments, verdict }: Explanation): Markup | null {
  if (experiments.length === 0) return null;
  const scale = ratioScale(experiments);
  const ticks = powersOfTwo(scale);
  return html`<table class="data forest">
<caption>Ratios after / before, on a logarithmic axis; × 1 is no change. The shaded band is what was measured, with its 95 % interval; bars are what each limit predicted.</caption>
<thead><tr><th scope="col">experiment</th><td><svg class="axis" height="18">${ticks.map((tick) => html`<text x="${scale.at(tick)}%" y="13" text-anchor="middle">× ${tick < 1 ? `1/${1 / tick}` : tick}</text>`)}</svg></td></tr></thead>
${experiments.map((experiment) => experimentRows(experiment, verdict.limit, scale, ticks))}</table>`;
}

function ratioScale(experiments: ExperimentResult[]): Scale {
  const measured = experiments.flatMap(({ measured: { low, high } }) => [low, high]);
  const [least, most] = [Math.min(1, ...measured) / reach, Math.max(1, ...measured) * reach];
  const predicted = experiments.flatMap((one) =>
    Object.values(one.predicted).flatMap(({ low, high }) => [low, high]),
  );
  const low = Math.min(0.8, ...measured, ...predicted);
  const high = Math.max(1.25, ...measured, ...predicted);
  return logScale(Math.max(least, low) / 1.15, Math.min(most, high) * 1.15);
}

function experimentRows(
  { name, metric, change, predicted, measured, excludes }: ExperimentResult,
  limit: LimitId | null,
  scale: Scale,
  ticks: number[],
): Markup {
  const ground = html`${ticks.map((tick) => verticalLine(tick === 1 ? 'one' : 'grid', scale.at(tick)))}${band(measured, scale)}`;
  const rivals = Object.entries(predicted)
    .map(([id, range]) => ({ id, range, kind: kindOf(id, limit, excludes) }))
    .sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
  return html`<tbody>
<tr class="experiment"><th scope="rowgroup" colspan="2"><strong>${name}</strong> ${change}</th></tr>
<tr><th scope="row">measured<small>${metric} ${measuredRatio(measured)}, ${plural(measured.pairs, 'pair')}</small></th><td>${row(html`${ground}${interval(measured, scale)}`)}</td></tr>
${rivals.map(
  ({
    id,
    range,
    kind,
  }) => html`<tr class="${kind}"><th scope="row">${id}<small>${factor(range)}${kind === 'against' ? ', ruled out by this' : ''}</small></th><td>${row(html`${ground}${prediction(range, scale)}`)}</td></tr>
`,
)}</tbody>
`;
}

/** The verdict's own prediction, others that fit, those that do not. */
const kinds = ['own', 'fits', 'against'] as const;

function kindOf(id: string, limit: LimitId | null, excludes: LimitId[]): (typeof kinds)[number] {
  if (excludes.some((one) => one === id)) return 'against';
  return id === limit ? 'own' : 'fits';
}

function row(content: Markup): Markup {
  return html`<svg class="ratio" height="${rowHeight}" aria-hidden="true">${content}</svg>`;
}

function verticalLine(kind: string, at: number): Markup {
  return html`<line class="${kind}" x1="${at}%" x2="${at}%" y1="0" y2="${rowHeight}"/>`;
}

function band(range: Range, scale: Scale): Markup {
  const [from, wide] = placed(range, scale);
  return html`<rect class="band" x="${from}%" width="${wide}%" height="${rowHeight}"/>`;
}

function interval({ ratio, low, high }: Range & { ratio: number }, scale: Scale): Markup {
  return html`<line class="spread" x1="${scale.at(low)}%" x2="${scale.at(high)}%" y1="${middle}" y2="${middle}"/><circle class="point" cx="${scale.at(ratio)}%" cy="${middle}" r="4.5"/>`;
}

function prediction(range: Range, scale: Scale): Markup {
  const [from, wide] = placed(range, scale);
  return html`<rect class="predicted" x="${from}%" width="${wide}%" y="${middle - thick}" height="${2 * thick}" rx="2"/>`;
}

/** A rectangle without a width is not drawn, and a single number is to be seen. */
const leastWide = 0.3;

function placed({ low, high }: Range, scale: Scale): [from: number, wide: number] {
  const from = scale.at(low);
  return [from, Math.max(leastWide, Number((scale.at(high) - from).toFixed(2)))];
}
