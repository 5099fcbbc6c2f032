/** A problem: minimize the sum of squares of `residuals` within bounds of the parameters. */
export interface LeastSquaresProblem {
  residuals: (parameters: readonly number[]) => number[];
  start: readonly number[];
  low: readonly number[];
  high: readonly number[];
}

/** The minimum that was found. */
export interface LeastSquaresSolution {
  parameters: number[];
  /** The sum of squares at the minimum. */
  squares: number;
  /** (JᵀJ)⁻¹. Times the variance of a residual it is the covariance of the parameters; huge where the data do not determine one. */
  covariance: number[][];
}

type Matrix = readonly (readonly number[])[];

const MAX_STEPS = 100;

/** Relative change of the sum below which the search ends. */
const TOLERANCE = 1e-10;

/** Term that keeps (JᵀJ)⁻¹ finite where a parameter has no influence, relative to the largest element. */
const RIDGE = 1e-10;

/**
 * Solves the problem by the Levenberg-Marquardt algorithm (Marquardt 1963): Gauss-Newton steps, damped until the sum
 * decreases. A step across a bound ends on the bound.
 */
export function solveLeastSquares({
  residuals,
  start,
  low,
  high,
}: LeastSquaresProblem): LeastSquaresSolution {
  const within = (parameters: readonly number[]) =>
    parameters.map((value, i) => Math.min(high[i] ?? value, Math.max(low[i] ?? value, value)));
  let parameters = within(start);
  let rest = residuals(parameters);
  let squares = dot(rest, rest);
  let damping = 1e-3;
  for (let step = 0; step < MAX_STEPS && damping < 1e10; step += 1) {
    const jacobian = computeJacobian(residuals, parameters, rest, high);
    const slope = jacobian.map((row) => -dot(row, rest));
    const free = parameters.flatMap((value, i) =>
      isLeavingBounds(value, slope[i] ?? 0, low[i], high[i]) ? [] : [i],
    );
    const normal = free.map((i) => free.map((j) => dot(jacobian[i] ?? [], jacobian[j] ?? [])));
    const damped = normal.map((row, i) =>
      row.map((value, j) => (i === j ? value * (1 + damping) + 1e-12 : value)),
    );
    const moves = solve(
      damped,
      free.map((i) => slope[i] ?? 0),
    );
    const next = within(parameters.map((value, i) => value + (moves[free.indexOf(i)] ?? 0)));
    const nextRest = residuals(next);
    const nextSquares = dot(nextRest, nextRest);
    if (nextSquares >= squares) {
      damping *= 10;
      continue;
    }
    const gain = squares - nextSquares;
    [parameters, rest, squares, damping] = [next, nextRest, nextSquares, damping / 10];
    if (gain <= TOLERANCE * squares) break;
  }
  return {
    parameters,
    squares,
    covariance: invertNormalMatrix(computeJacobian(residuals, parameters, rest, high)),
  };
}

/** Whether a parameter lies on a bound and the next step would cross the bound: such a parameter stays fixed. */
function isLeavingBounds(
  value: number,
  direction: number,
  low = Number.NEGATIVE_INFINITY,
  high = Number.POSITIVE_INFINITY,
): boolean {
  return (value <= low && direction < 0) || (value >= high && direction > 0);
}

/** Computes the derivatives of the residuals by finite differences, a row for each parameter. */
function computeJacobian(
  residuals: LeastSquaresProblem['residuals'],
  parameters: readonly number[],
  rest: readonly number[],
  high: readonly number[],
): number[][] {
  return parameters.map((value, i) => {
    const size = 1e-6 * Math.max(1e-2, Math.abs(value));
    const step = value + size > (high[i] ?? Number.POSITIVE_INFINITY) ? -size : size;
    const moved = residuals(parameters.map((other, j) => (i === j ? value + step : other)));
    return moved.map((residual, k) => (residual - (rest[k] ?? 0)) / step);
  });
}

/** Computes (JᵀJ)⁻¹. */
function invertNormalMatrix(jacobian: Matrix): number[][] {
  const normal = jacobian.map((a) => jacobian.map((b) => dot(a, b)));
  const largest = Math.max(...normal.flat(), Number.MIN_VALUE);
  const kept = normal.map((row, i) =>
    row.map((value, j) => (i === j ? value + RIDGE * largest : value)),
  );
  const unit = (i: number) => kept.map((_, j) => (i === j ? 1 : 0));
  return kept.map((_, i) => solve(kept, unit(i)));
}

/** Solves a small linear system by Gaussian elimination with pivoting. */
function solve(matrix: Matrix, right: readonly number[]): number[] {
  const rows = matrix.map((row, i) => [...row, right[i] ?? 0]);
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (const column of rows.keys()) {
    let pivot = column;
    for (let i = column + 1; i < rows.length; i += 1) {
      if (Math.abs(at(i, column)) > Math.abs(at(pivot, column))) pivot = i;
    }
    const [a, b] = [rows[column] ?? [], rows[pivot] ?? []];
    [rows[column], rows[pivot]] = [b, a];
    for (const [i, row] of rows.entries()) {
      if (i === column) continue;
      const factor = at(i, column) / at(column, column);
      rows[i] = row.map((value, j) => value - factor * at(column, j));
    }
  }
  return rows.map((_, i) => at(i, rows.length) / at(i, i));
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
}
