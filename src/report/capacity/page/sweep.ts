import { selectUsable } from '../../../capacity/levels.js';
import type { CapacityCurve, CapacityLevel, CapacitySweep } from '../../../capacity/result.js';
import { count, plural, rate, time } from '../../../format/units.js';
import { drawFlatBound, drawRisingBound } from '../../html/charts/bounds.js';
import { type Axis, type ChartMark, renderChart, toPixels } from '../../html/charts/chart.js';
import { type ChartPoint, drawArea, drawPolyline } from '../../html/charts/curves.js';
import { drawAreaSign, drawLineSign, renderLegend } from '../../html/charts/legend.js';
import { drawDot, drawMeasurement } from '../../html/charts/markers.js';
import {
  createLogScaleAround,
  listDecades,
  listPowersOfTwo,
  type Scale,
} from '../../html/charts/scale.js';
import { html, type Markup } from '../../html/markup.js';
import { hasUpperEnd } from '../answer.js';
import { type CapacityWords, chooseWords } from '../words.js';
import { renderLatencyChart } from './latency.js';

/** Margin of a scale beyond the outermost values, as a ratio. */
const SCALE_MARGIN = 1.5;

/** Renders throughput and latency over connections. */
export function renderSweepCharts(sweep: CapacitySweep): (Markup | null)[] {
  return [renderThroughput(sweep), renderLatency(sweep)];
}

/** Renders the levels with the curve through them, and the two bounds of throughput. */
function renderThroughput(sweep: CapacitySweep): Markup | null {
  const { model } = sweep;
  const words = chooseWords(sweep);
  // A logarithmic scale has no zero.
  const levels = sweep.levels.filter(({ throughput }) => throughput.mean > 0);
  if (levels.length === 0) return null;
  const x = createConnectionScale(sweep);
  const rates = levels.flatMap(({ throughput: { low, high } }) => [low, high]);
  const y = createLogScaleAround(
    [...rates, ...(model?.maxThroughput ? [model.maxThroughput.value] : [])],
    SCALE_MARGIN,
  );
  const sound = selectUsable(levels);
  const leftOut = levels.filter((level) => !sound.includes(level));
  return renderChart({
    title: `Throughput over ${words.place}s`,
    caption: `${nameCompleted(words)} per second, a point for each number of ${words.place}s, with its 95 % interval.${describeBounds(model, words)} Logarithmic scales.`,
    legend: renderLegend([
      [drawDot('12', 6, {}), 'measured'],
      leftOut.length > 0 && [drawDot('12', 6, { kind: 'left-out' }), 'left out of the curve'],
      model !== null && [drawLineSign('line first'), 'curve'],
      model !== null && [drawAreaSign('band'), '95 % of blocks'],
      model !== null && [drawLineSign('bound'), 'bounds'],
    ]),
    summary: describeThroughput(sweep),
    x: createConnectionAxis(x),
    y: { scale: y, ticks: listDecades(y), label: rate },
    content: [
      ...(model ? drawCurve(model, x, y) : []),
      ...levels.map((level) =>
        drawLevel(level, x, y, { isLeftOut: leftOut.includes(level), words }),
      ),
    ],
    marks: listMarks(model),
  });
}

/** Renders percentiles, which grow with the connections beyond the knee, and the bounds of the mean. */
function renderLatency(sweep: CapacitySweep): Markup | null {
  const { levels, model } = sweep;
  const { perSecond, noun, place } = chooseWords(sweep);
  const x = createConnectionScale(sweep);
  const maxThroughput = model?.maxThroughput?.value;
  return renderLatencyChart({
    title: noun === 'request' ? 'Latency over connections' : 'Duration over users',
    bounds:
      maxThroughput && model
        ? {
            words: `Dashed: the bounds of the mean, ${time(model.singleMs.value)} for a single ${noun}, and N / ${rate(maxThroughput)} ${perSecond} with N ${place}s.`,
            draw: (y) => [
              drawFlatBound(y, model.singleMs.value),
              drawRisingBound(x, y, 1000 / maxThroughput),
            ],
          }
        : null,
    points: selectUsable(levels).map(({ connections, latencyMs }) => ({
      x: connections,
      name: plural(connections, 'connection'),
      latencyMs,
    })),
    x: createConnectionAxis(x),
    marks: listMarks(model),
  });
}

/** Creates the scale of connections, which includes the levels, the knee and the peak. */
function createConnectionScale({ levels, model }: CapacitySweep): Scale {
  const { knee, peak } = model ?? {};
  const estimates = [knee, peak].flatMap((estimate) => (estimate ? [estimate.value] : []));
  return createLogScaleAround(
    [...levels.map(({ connections }) => connections), ...estimates],
    SCALE_MARGIN,
  );
}

function createConnectionAxis(scale: Scale): Axis {
  return { scale, ticks: listPowersOfTwo(scale).filter(Number.isInteger), label: count };
}

/** Draws the curve with its interval, and the bounds: N / R0 and the maximum throughput. */
function drawCurve(model: CapacityCurve, x: Scale, y: Scale): Markup[] {
  const { singleMs, maxThroughput } = model;
  const points = model.points.filter(({ connections }) => connections <= x.high);
  const places = (height: (throughput: CapacityCurve['singleMs']) => number) =>
    points.map(
      ({ connections, throughput }): ChartPoint => [
        x.at(connections),
        toPixels(y, height(throughput)),
      ],
    );
  return [
    drawArea(
      'band',
      places(({ high }) => (hasUpperEnd(high) ? high : y.high)),
      places(({ low }) => low),
    ),
    drawRisingBound(x, y, 1000 / singleMs.value),
    maxThroughput && drawFlatBound(y, maxThroughput.value),
    maxThroughput && drawBoundName(y, maxThroughput.value),
    drawPolyline(
      'line first',
      places(({ value }) => value),
    ),
  ].filter((drawn) => drawn !== null);
}

function drawBoundName(y: Scale, maxThroughput: number): Markup {
  return html`<text class="bound-name" x="4" y="${toPixels(y, maxThroughput) - 6}">at most ${rate(maxThroughput)}</text>`;
}

function drawLevel(
  level: CapacityLevel,
  x: Scale,
  y: Scale,
  { isLeftOut, words }: { isLeftOut: boolean; words: CapacityWords },
): Markup {
  const { mean, low, high } = level.throughput;
  const heights = { mean: toPixels(y, mean), low: toPixels(y, low), high: toPixels(y, high) };
  const title = `${plural(level.connections, words.place)}: ${rate(mean)} ${words.perSecond}`;
  return drawMeasurement(x.at(level.connections), heights, {
    kind: isLeftOut ? 'left-out' : null,
    title,
  });
}

function listMarks(model: CapacityCurve | null): ChartMark[] {
  const { knee, peak } = model ?? {};
  return [
    ...(knee
      ? [{ x: knee.value, label: `knee ${count(knee.value)}`, color: 'first' } as const]
      : []),
    ...(peak
      ? [{ x: peak.value, label: `peak ${count(peak.value)}`, color: 'muted' } as const]
      : []),
  ];
}

function describeBounds(model: CapacityCurve | null, { perSecond, noun }: CapacityWords): string {
  if (!model) return '';
  const { singleMs, maxThroughput } = model;
  const plateau = maxThroughput
    ? `, and ${rate(maxThroughput.value)} ${perSecond}, the maximum`
    : '';
  return ` Dashed: the bounds N / ${time(singleMs.value)}, the response time of a single ${noun}${plateau}.`;
}

function nameCompleted({ noun }: CapacityWords): string {
  return noun === 'request' ? 'Responses' : 'Completed iterations';
}

function describeThroughput(sweep: CapacitySweep): string {
  const { levels, model } = sweep;
  const words = chooseWords(sweep);
  const { maxThroughput, knee, peak } = model ?? {};
  const parts = levels.map(
    ({ connections, throughput }) =>
      `${rate(throughput.mean)} with ${plural(connections, words.place)}`,
  );
  const estimates = [
    maxThroughput ? `at most ${rate(maxThroughput.value)}` : '',
    knee ? `knee at ${count(knee.value)}` : '',
    peak ? `peak at ${count(peak.value)}` : '',
  ].filter((text) => text !== '');
  const curve = estimates.length > 0 ? ` By the curve ${estimates.join(', ')}.` : '';
  return `${nameCompleted(words)} per second: ${parts.join(', ')}.${curve}`;
}
