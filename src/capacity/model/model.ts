import { CURVES, type CurveName, type CurveQuantities, computeLogPeak } from './curves.js';
import { type CapacityEstimate, type Fit, fitCurve } from './fit.js';
import { type Level, type LogLevel, toLogLevels } from './level.js';

/** A model of throughput over connections, fitted to levels. Intervals are 95 % intervals. */
export interface CapacityModel {
  /**
   * `'mva'`: a delay and one server; `'bounds'`: the same without waiting before the knee; `'amdahl'`: a serial share of
   * the work; `'usl'`: the same, with throughput that falls beyond a peak.
   */
  curve: CurveName;
  /** Mean response time with a single request in flight, milliseconds. */
  singleMs: CapacityEstimate;
  /** Responses per second on the plateau or at the peak; `null` if the levels do not reach far enough. */
  maxThroughput: CapacityEstimate | null;
  /** Connections at which the plateau begins: N = X_max R0. More than that only adds latency. `null` like `maxThroughput`. */
  knee: CapacityEstimate | null;
  /** Connections beyond which throughput falls; `null` unless measured. */
  peak: CapacityEstimate | null;
  /** Standard deviation of a block around the curve, as a share. */
  scatter: number;
  /** Largest number of connections that can be predicted: twice the largest measured. */
  reach: number;
  /** Predicts the responses per second of a block at this number of connections; `null` beyond `reach`. */
  predict: (connections: number) => CapacityEstimate | null;
}

/** Number of levels that the law with three parameters needs, as in usl4j and R's usl. */
const MIN_LEVELS_FOR_PEAK = 6;

/**
 * Difference of the criterion up to which a curve is supported as well as the best one (Burnham and Anderson 2002). The
 * intervals cover those of all supported curves: a straight line whose last level is a little low is not a plateau yet.
 */
const SUPPORT_MARGIN = 4;

/** Ratio of the ends of the interval up to which a plateau counts as known. */
const MAX_INTERVAL_RATIO = 3;

/**
 * Selects the curve through the levels by Akaike's criterion; `null` with fewer than two levels. `noise` is the smallest
 * change of throughput that counts as a change, as a share.
 *
 * A peak is reported only if throughput fell at the largest level and the interval of the law's third parameter lies above
 * 0: fitting the Universal Scalability Law by least squares finds a peak in any plateau.
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
  const combine = (of: (fit: Fit) => CapacityEstimate): CapacityEstimate => ({
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

/** Whether the criterion is lower by more than rounding errors; of equal fits the first one is kept. */
function isBetter(next: Fit, best: Fit): boolean {
  return next.aicc < best.aicc - 1e-6;
}

/** Whether throughput at the largest level is lower than the highest by more than the noise. */
function hasDecline(points: readonly LogLevel[], noise: number): boolean {
  const highest = Math.max(...points.map(({ logThroughput }) => logThroughput));
  const last = points.at(-1)?.logThroughput ?? highest;
  return points.length >= MIN_LEVELS_FOR_PEAK && last < highest - noise;
}

/** Converts an estimate of a logarithm into the value, times `unit`. */
function exponentiate({ value, low, high }: CapacityEstimate, unit = 1): CapacityEstimate {
  return { value: unit * Math.exp(value), low: unit * Math.exp(low), high: unit * Math.exp(high) };
}
