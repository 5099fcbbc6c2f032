import { CURVES, type CurveName, type CurveQuantities, computeLogPeak } from './curves.js';
import { type Estimate, type Fit, fitCurve } from './fit.js';
import { type Level, type LogLevel, toLogLevels } from './level.js';

/** What throughput over connections follows, and what it says. Intervals are of 95 %. */
export interface CapacityModel {
  /**
   * `'mva'`: a delay and one server; `'bounds'`: the same without any waiting before the knee; `'amdahl'`: a share of the
   * work one at a time; `'usl'`: and throughput falls beyond a peak.
   */
  curve: CurveName;
  /** Mean response time with a single request in flight, milliseconds. */
  singleMs: Estimate;
  /** Responses per second on the plateau or at the peak; `null` if the levels do not reach far enough to tell. */
  maxThroughput: Estimate | null;
  /** Where the plateau begins: N = X_max R0. More connections than that only wait. `null` as `maxThroughput`. */
  knee: Estimate | null;
  /** Connections beyond which throughput falls; `null` unless measured. */
  peak: Estimate | null;
  /** Standard deviation of a block around the curve, as a share. */
  scatter: number;
  /** Largest number of connections for which anything is said: twice the largest measured. */
  reach: number;
  /** What a block at this number of connections gives, responses per second; `null` beyond `reach`. */
  predict: (connections: number) => Estimate | null;
}

/** The law of three parameters needs this many levels (as usl4j and R's usl demand), its fall to be measured. */
const MIN_LEVELS_FOR_PEAK = 6;

/**
 * Curves whose criterion is this near to the best one's have support too (Burnham and Anderson 2002), and the intervals
 * reach over theirs: a straight line whose last level is a little low is no plateau yet.
 */
const SUPPORT_MARGIN = 4;

/** A plateau is known if its interval spans no more than this ratio. */
const MAX_INTERVAL_RATIO = 3;

/**
 * The curve through the levels, by Akaike's criterion; `null` with fewer than two levels. `noise`: change of throughput
 * that is told from noise, as a share.
 *
 * That throughput falls beyond a peak is only claimed if it was measured at the largest level, and its term's interval
 * lies above 0: least squares of the Universal Scalability Law find a peak in any plateau.
 */
export function fitModel(levels: readonly Level[], noise = 0.03): CapacityModel | null {
  const points = toLogLevels(levels);
  const largest = points.at(-1);
  if (!largest || points.length < 2) return null;
  const fits = CURVES.filter(({ name }) => name !== 'usl' || hasDecline(points, noise))
    .map((curve) => fitCurve(curve, points))
    .filter(({ curve, estimate }) => curve.name !== 'usl' || estimate(([, , k = 0]) => k).low > 0);
  const best = fits.reduce((best, next) => (isBetter(next, best) ? next : best));
  const supported = fits.filter(({ aicc }) => aicc <= best.aicc + SUPPORT_MARGIN);
  const combine = (of: (fit: Fit) => Estimate): Estimate => ({
    value: of(best).value,
    low: Math.min(...supported.map((fit) => of(fit).low)),
    high: Math.max(...supported.map((fit) => of(fit).high)),
  });
  const estimateQuantity = (quantity: keyof CurveQuantities, unit = 1) =>
    exponentiate(
      combine(({ curve, estimate }) => estimate((p) => curve.quantities(p)[quantity])),
      unit,
    );
  const reach = 2 * largest.connections;
  const maxThroughput = estimateQuantity('logMaxThroughput');
  const knee = estimateQuantity('logKnee');
  const isKnown =
    maxThroughput.high <= MAX_INTERVAL_RATIO * maxThroughput.low && knee.value <= reach;
  return {
    curve: best.curve.name,
    singleMs: estimateQuantity('logSingle', 1000),
    maxThroughput: isKnown ? maxThroughput : null,
    knee: isKnown ? knee : null,
    peak: best.curve.name === 'usl' ? exponentiate(best.estimate(computeLogPeak)) : null,
    scatter: best.scatter,
    reach,
    predict(connections) {
      if (!(connections >= 1 && connections <= reach)) return null;
      const at = [Math.round(connections)];
      return exponentiate(
        combine(({ curve, estimate, scatter }) =>
          estimate((p) => curve.logThroughput(p, at)[0] ?? Number.NaN, scatter ** 2),
        ),
      );
    },
  };
}

/** Lower by more than rounding: of equals the first stays. */
function isBetter(next: Fit, best: Fit): boolean {
  return next.aicc < best.aicc - 1e-6;
}

function hasDecline(points: readonly LogLevel[], noise: number): boolean {
  const highest = Math.max(...points.map(({ logThroughput }) => logThroughput));
  const last = points.at(-1)?.logThroughput ?? highest;
  return points.length >= MIN_LEVELS_FOR_PEAK && last < highest - noise;
}

/** From the logarithm, in another unit. */
function exponentiate({ value, low, high }: Estimate, unit = 1): Estimate {
  return { value: unit * Math.exp(value), low: unit * Math.exp(low), high: unit * Math.exp(high) };
}
