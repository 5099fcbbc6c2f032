import { labelMetric } from '../../../explain/experiment-names.js';
import type { LimitId } from '../../../explain/limit-ids.js';
import type { ExperimentResult, Explanation } from '../../../explain/result.js';
import { factor, measuredRatio } from '../../../format/ratios.js';
import { plural } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { drawDot } from '../../html/charts/markers.js';
import { drawRange } from '../../html/charts/ranges.js';
import { createLogScale, listPowersOfTwo, type Scale } from '../../html/charts/scale.js';
import { html, type Markup } from '../../html/markup.js';

/** Maximum ratio between predictions and measurements that the scale includes; other predictions end at its edge. */
const MAX_DISTANCE = 4;
const ROW_HEIGHT = 38;
const MIDDLE = ROW_HEIGHT / 2;
/** Half the height of the bar of a prediction. */
const BAR_HALF_HEIGHT = 5;

/** Renders the experiments as a forest plot: the prediction of each limit and the measurement on one axis of ratios. */
export function renderForest({ experiments, verdict }: Explanation): Markup | null {
  if (experiments.length === 0) return null;
  const scale = createRatioScale(experiments);
  const ticks = listPowersOfTwo(scale);
  return html`<table class="data forest">
<caption>Ratios after / before on a logarithmic axis; × 1 is no change. The shaded band is the measurement with its 95 % interval; bars are the predictions of the limits.</caption>
<thead><tr><th scope="col">experiment</th><td><svg class="axis" height="18">${ticks.map((tick) => html`<text x="${scale.at(tick)}%" y="13" text-anchor="middle">× ${tick < 1 ? `1/${1 / tick}` : tick}</text>`)}</svg></td></tr></thead>
${experiments.map((experiment) => renderExperiment(experiment, verdict.limit, scale, ticks))}</table>`;
}

function createRatioScale(experiments: ExperimentResult[]): Scale {
  const measured = experiments.flatMap(({ measured: { low, high } }) => [low, high]);
  const [lowerLimit, upperLimit] = [
    Math.min(1, ...measured) / MAX_DISTANCE,
    Math.max(1, ...measured) * MAX_DISTANCE,
  ];
  const predicted = experiments.flatMap((one) =>
    Object.values(one.predicted).flatMap(({ low, high }) => [low, high]),
  );
  const low = Math.min(0.8, ...measured, ...predicted);
  const high = Math.max(1.25, ...measured, ...predicted);
  return createLogScale(Math.max(lowerLimit, low) / 1.15, Math.min(upperLimit, high) * 1.15);
}

function renderExperiment(
  { label, metric, change, predicted, measured, excludes }: ExperimentResult,
  limit: LimitId | null,
  scale: Scale,
  ticks: number[],
): Markup {
  const ground = html`${ticks.map((tick) => drawVerticalLine(tick === 1 ? 'one' : 'grid', scale.at(tick)))}${drawRange('band', measured, scale, { y: 0, height: ROW_HEIGHT })}`;
  const rivals = Object.entries(predicted)
    .map(([id, range]) => ({ id, range, kind: chooseKind(id, limit, excludes) }))
    .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  return html`<tbody>
<tr class="experiment"><th scope="rowgroup" colspan="2"><strong>${label}</strong> ${change}</th></tr>
<tr><th scope="row">measured<small>${labelMetric(metric)} ${measuredRatio(measured)}, ${plural(measured.pairs, 'pair')}</small></th><td>${drawRow(html`${ground}${drawInterval(measured, scale)}`)}</td></tr>
${rivals.map(
  ({
    id,
    range,
    kind,
  }) => html`<tr class="${kind}"><th scope="row">${id}<small>${factor(range)}${kind === 'against' ? ', ruled out by this' : ''}</small></th><td>${drawRow(html`${ground}${drawPrediction(range, scale)}`)}</td></tr>
`,
)}</tbody>
`;
}

/** The prediction of the verdict, other predictions that fit, and those that do not. */
const KINDS = ['own', 'fits', 'against'] as const;

function chooseKind(
  id: string,
  limit: LimitId | null,
  excludes: LimitId[],
): (typeof KINDS)[number] {
  if (excludes.some((one) => one === id)) return 'against';
  return id === limit ? 'own' : 'fits';
}

function drawRow(content: Markup): Markup {
  return html`<svg class="ratio" height="${ROW_HEIGHT}" aria-hidden="true">${content}</svg>`;
}

function drawVerticalLine(kind: string, at: number): Markup {
  return html`<line class="${kind}" x1="${at}%" x2="${at}%" y1="0" y2="${ROW_HEIGHT}"/>`;
}

function drawInterval({ ratio, low, high }: Interval & { ratio: number }, scale: Scale): Markup {
  const bar = html`<line class="spread" x1="${scale.at(low)}%" x2="${scale.at(high)}%" y1="${MIDDLE}" y2="${MIDDLE}"/>`;
  return html`${bar}${drawDot(`${scale.at(ratio)}%`, MIDDLE, {})}`;
}

function drawPrediction(range: Interval, scale: Scale): Markup {
  const heights = { y: MIDDLE - BAR_HALF_HEIGHT, height: 2 * BAR_HALF_HEIGHT, radius: 2 };
  return drawRange('predicted', range, scale, heights);
}
