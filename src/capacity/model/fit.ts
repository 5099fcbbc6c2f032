import { studentQuantile } from '../../statistics/student.js';
import type { Curve } from './curves.js';
import { solveLeastSquares } from './least-squares.js';
import type { LogLevel } from './level.js';

/** A quantity with its 95 % interval. */
export interface CapacityEstimate {
  value: number;
  low: number;
  high: number;
}

/** A curve fitted to levels. */
export interface Fit {
  curve: Curve;
  parameters: number[];
  /** Akaike's criterion with the correction for few points (Hurvich and Tsai 1989); lower is better. */
  aicc: number;
  /** Standard deviation of a block around the curve, as a share. */
  scatter: number;
  /** Estimates a function of the parameters; `extraVariance` is added to the variance that comes from them. */
  estimate: (
    quantity: (parameters: readonly number[]) => number,
    extraVariance?: number,
  ) => CapacityEstimate;
}

/** Smallest scatter assumed: blocks that agree better do so by chance. */
const MIN_SCATTER = 0.005;

/** Scatter assumed if it cannot be estimated: no level was measured twice, and the curve passes through all levels. */
const DEFAULT_SCATTER = { scatter: 0.03, freedom: 1 };

/**
 * Fits a curve by least squares on log X, which suits scatter that is proportional to the value.
 *
 * The scatter is estimated from the deviations of the levels from the curve and of the blocks from their level; the larger
 * value is used, so that a curve of the wrong form has wide intervals. The intervals come from the linearised curve:
 * Student's t times sqrt(gᵀ (JᵀJ)⁻¹ g s²), with g the gradient.
 */
export function fitCurve(curve: Curve, levels: readonly LogLevel[]): Fit {
  const connections = levels.map((level) => level.connections);
  const residuals = (parameters: readonly number[]) => {
    const curved = curve.logThroughput(parameters, connections);
    return levels.map(
      ({ blocks, logThroughput }, i) => Math.sqrt(blocks) * (logThroughput - (curved[i] ?? 0)),
    );
  };
  const { parameters, squares, covariance } = solveLeastSquares({
    residuals,
    start: guessParameters(curve, levels),
    low: curve.low,
    high: curve.high,
  });
  const { scatter, freedom } = estimateScatter(levels, squares, parameters.length);
  const estimate: Fit['estimate'] = (quantity, extraVariance = 0) => {
    const value = quantity(parameters);
    const gradient = computeGradient(quantity, parameters, curve.high);
    const variance = gradient.reduce(
      (sum, a, i) =>
        sum + gradient.reduce((row, b, j) => row + a * b * (covariance[i]?.[j] ?? 0), 0),
      0,
    );
    const half =
      studentQuantile(freedom) * Math.sqrt(Math.max(0, variance) * scatter ** 2 + extraVariance);
    return { value, low: value - half, high: value + half };
  };
  return { curve, parameters, aicc: aicc(squares, levels, parameters.length), scatter, estimate };
}

function guessParameters(curve: Curve, levels: readonly LogLevel[]): number[] {
  // Response times are shortest with the fewest requests in flight. The highest throughput approximates the plateau.
  const single = Math.min(
    ...levels.map((level) => level.connections / Math.exp(level.logThroughput)),
  );
  const maxThroughput = Math.max(...levels.map((level) => Math.exp(level.logThroughput)));
  return curve.initialGuess(single, maxThroughput);
}

function estimateScatter(
  levels: readonly LogLevel[],
  squares: number,
  parameters: number,
): { scatter: number; freedom: number } {
  const blocks = levels.reduce((sum, level) => sum + level.blocks, 0);
  const within = levels.reduce((sum, level) => sum + level.squares, 0);
  const sources = [
    { freedom: levels.length - parameters, squares },
    { freedom: blocks - levels.length, squares: within },
  ];
  const known = sources
    .filter(({ freedom }) => freedom > 0)
    .map(({ freedom, squares }) => ({ freedom, scatter: Math.sqrt(squares / freedom) }))
    .sort((a, b) => b.scatter - a.scatter);
  const [{ scatter, freedom } = DEFAULT_SCATTER] = known;
  return { scatter: Math.max(MIN_SCATTER, scatter), freedom };
}

function computeGradient(
  quantity: (parameters: readonly number[]) => number,
  parameters: readonly number[],
  high: readonly number[],
): number[] {
  return parameters.map((value, i) => {
    const size = 1e-5 * Math.max(1e-2, Math.abs(value));
    const step = value + size > (high[i] ?? Number.POSITIVE_INFINITY) ? -size : size;
    const moved = parameters.map((other, j) => (i === j ? value + step : other));
    return (quantity(moved) - quantity(parameters)) / step;
  });
}

function aicc(squares: number, levels: readonly LogLevel[], parameters: number): number {
  const n = levels.length;
  const blocks = levels.reduce((sum, level) => sum + level.blocks, 0);
  // The mean square deviation of a block, with a floor for agreement by chance.
  const meanSquare = Math.max(squares / blocks, MIN_SCATTER ** 2 / 10);
  const k = parameters + 1;
  // With fewer levels only curves of two parameters are compared, so the correction would be the same for all.
  const correction = n > k + 1 ? (2 * k * (k + 1)) / (n - k - 1) : 0;
  return n * Math.log(meanSquare) + 2 * k + correction;
}
