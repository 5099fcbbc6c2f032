import type { RateTrial, Search } from '../../../capacity/result.js';
import { rate, roundTime } from '../../../format/units.js';
import { type Condition, parseCondition } from '../../../load/plan/condition.js';
import { flatBound, risingBound } from '../../html/bounds.js';
import { type Axis, bottom, chartFigure, type Mark, top, up } from '../../html/chart.js';
import { type Place, polyline } from '../../html/curves.js';
import { areaSign, legend, lineSign } from '../../html/legend.js';
import { dot, type Look, square } from '../../html/markers.js';
import { html, type Markup } from '../../html/markup.js';
import { decades, linearScale, multiples, type Scale, scaleAround } from '../../html/scale.js';
import { hasEnd } from '../answer.js';
import { measuredValue, metricOf } from '../measured.js';
import { latencyFigure } from './latency.js';

/** Room beside the outermost values, as a ratio. */
const room = 1.2;

/** The objective, latency and throughput over the rate. */
export function searchFigures(search: Search): (Markup | null)[] {
  if (search.trials.length === 0) return [];
  return [
    ...search.objective.map((_, index) => conditionFigure(search, index)),
    latencyOver(search),
    throughputOver(search),
  ];
}

/** What one condition is about at each rate: which blocks held the objective, and which did not. */
function conditionFigure(search: Search, index: number): Markup | null {
  const condition = parseCondition(search.objective[index] ?? '', 'objective');
  const { trials, confirmed } = search;
  const points = trials.flatMap((trial) => placeOf(trial, index));
  if (points.length === 0) return null;
  const again = confirmed ? placeOf(confirmed, index) : [];
  const x = acrossRates(search);
  const y = valueAxis(condition, [...points, ...again]);
  const print = (value: number) => measuredValue(value, condition.text);
  const draw = ({ trial, value }: Point, look: Look) => {
    const title = `${rate(trial.rate)} req/s: ${print(value)}, ${trial.held ? 'held' : 'did not hold'}`;
    const sign = trial.held ? dot : square;
    return sign(`${x.at(trial.rate)}%`, up(y.scale, value), {
      kind: kindOf(trial),
      title,
      ...look,
    });
  };
  return chartFigure({
    title: `${metricOf(condition.text)} over the rate`,
    caption: `Each block against ${condition.text}. It holds the objective if all conditions hold, few requests fail, and the rate is reached. ${condition.boundMs === null ? 'Logarithmic scale of the rate.' : 'Logarithmic scales.'}`,
    legend: legend([
      [dot('12', 6, { kind: 'held' }), 'objective held'],
      [square('12', 6, { kind: 'failed' }), 'did not hold'],
      trials.some(isClients) && [square('12', 6, { kind: 'left-out' }), 'CLIENT-BOUND'],
      again.length > 0 && [dot('12', 6, { kind: 'own held', large: true }), 'longer block'],
      [lineSign('bound'), print(condition.bound)],
      search.rate !== null && [areaSign('band'), '95 % interval of the answer'],
    ]),
    summary: `${condition.text}: ${points.map(({ trial, value }) => `${print(value)} at ${rate(trial.rate)} requests per second, ${trial.held ? 'held' : 'did not hold'}`).join('; ')}.`,
    x: rateAxis(x),
    y,
    content: [
      intervalBand(search, x),
      flatBound(y.scale, condition.bound),
      ...points.map((point) => draw(point, {})),
      ...again.map((point) => draw(point, { kind: `own ${kindOf(point.trial)}`, large: true })),
    ].filter((drawn) => drawn !== null),
    marks: marksOf(search),
  });
}

/** The usual percentiles, whatever the conditions are about. */
function latencyOver(search: Search): Markup | null {
  return latencyFigure({
    title: 'Latency over the rate',
    bounds: null,
    points: byRate(search).map(({ rate: at, latencyMs }) => ({
      x: at,
      name: `${rate(at)} req/s`,
      latencyMs,
    })),
    x: rateAxis(acrossRates(search)),
    marks: marksOf(search),
  });
}

/** What was completed of what became due. */
function throughputOver(search: Search): Markup | null {
  const x = acrossRates(search);
  // Nothing has no place on a logarithmic scale.
  const points = byRate(search).filter(({ throughput }) => throughput > 0);
  if (points.length === 0) return null;
  const y = scaleAround(
    [...points.map(({ throughput }) => throughput), points[0]?.rate ?? 0],
    room,
  );
  const places = points.map((trial): Place => [x.at(trial.rate), up(y, trial.throughput)]);
  const inWords = (trial: RateTrial) =>
    `${rate(trial.throughput)} completed of ${rate(trial.rate)} req/s`;
  return chartFigure({
    title: 'Throughput over the rate',
    caption:
      'Responses per second in each block. Dashed: as many as became due; below it the server fell behind. Logarithmic scales.',
    legend: legend([
      [dot('12', 6, {}), 'completed'],
      [lineSign('bound'), 'due'],
    ]),
    summary: `Throughput: ${points.map(inWords).join('; ')}.`,
    x: rateAxis(x),
    y: { scale: y, ticks: decades(y), label: rate },
    content: [
      risingBound(x, y, 1),
      polyline('line first', places),
      ...points.map((trial, index) => {
        const [at, from] = places[index] ?? [0, 0];
        return dot(`${at}%`, from, { title: inWords(trial) });
      }),
    ].filter((drawn) => drawn !== null),
    marks: marksOf(search),
  });
}

/** A trial with what was measured of a condition. */
interface Point {
  trial: RateTrial;
  value: number;
}

function placeOf(trial: RateTrial, index: number): Point[] {
  const value = trial.measured[index] ?? null;
  return value === null ? [] : [{ trial, value }];
}

function kindOf(trial: RateTrial): string {
  if (trial.held) return 'held';
  return isClients(trial) ? 'left-out' : 'failed';
}

/** That it failed says nothing about the server. */
function isClients({ held, clientBound }: RateTrial): boolean {
  return clientBound && !held;
}

function byRate({ trials }: Search): RateTrial[] {
  return trials.toSorted((a, b) => a.rate - b.rate);
}

function acrossRates({ trials, rate: found }: Search): Scale {
  const ends = found ? [found.low, found.high] : [];
  return scaleAround([...trials.map((trial) => trial.rate), ...ends], room);
}

function rateAxis(scale: Scale): Axis {
  return { scale, ticks: decades(scale), label: rate };
}

/** Times are logarithmic, as those of an overload are many times the others; numbers and shares begin at 0. */
function valueAxis({ boundMs, bound, text }: Condition, points: Point[]): Axis {
  const values = [...points.map(({ value }) => value), bound];
  if (boundMs !== null) {
    const scale = scaleAround(values, room);
    return { scale, ticks: decades(scale), label: roundTime };
  }
  const scale = linearScale(1.08 * Math.max(...values) || 1);
  return { scale, ticks: multiples(scale), label: (value) => measuredValue(value, text) };
}

function intervalBand({ rate: found }: Search, x: Scale): Markup | null {
  if (!found) return null;
  const from = x.at(found.low);
  const to = hasEnd(found.high) ? x.at(found.high) : 100;
  return html`<rect class="band" x="${from}%" width="${Math.max(0.3, Number((to - from).toFixed(2)))}%" y="${top}" height="${bottom - top}"/>`;
}

function marksOf({ rate: found }: Search): Mark[] {
  if (!found) return [];
  const { value, low, high } = found;
  return hasEnd(high)
    ? [{ x: value, label: `${rate(value)} req/s`, color: 'first' }]
    : [{ x: low, label: `${rate(low)} req/s at least`, color: 'first' }];
}
