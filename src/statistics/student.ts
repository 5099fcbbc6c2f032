import { incompleteBeta, logBeta } from './incomplete-beta.js';

/** Relative step at which the search for a quantile ends. */
const PRECISION = 1e-12;

/** Maximum steps of that search; it takes about ten, and more only with one or two degrees of freedom. */
const MAX_STEPS = 100;

/**
 * Returns half the width of a two-sided interval in standard errors: the quantile of Student's t that is exceeded in
 * either direction with the probability 1 - `confidence`. Degrees of freedom are real numbers from 1, as Welch's are;
 * `confidence` is between 0 and 1. The relative error is below 1e-9 for a
 * confidence from 0.01 to 1 - 1e-6.
 *
 * Newton's method on the logarithm of the probability as a function of the logarithm of t. That function is concave and
 * falls, so once a step has come above the root, every step approaches it from there. No step more than doubles t, as
 * the probability far above the root is 0.
 */
export function studentQuantile(degreesOfFreedom: number, confidence = 0.95): number {
  const wanted = Math.log1p(-confidence);
  const beta = logBeta(degreesOfFreedom / 2, 0.5);
  let t = 1;
  for (let step = 0; step < MAX_STEPS; step++) {
    const outside = exceedance(t, degreesOfFreedom);
    const density = Math.exp(
      -((degreesOfFreedom + 1) / 2) * Math.log1p(t ** 2 / degreesOfFreedom) - beta,
    );
    const slope = (-2 * t * density) / (Math.sqrt(degreesOfFreedom) * outside);
    const change = Math.min(Math.LN2, (wanted - Math.log(outside)) / slope);
    t *= Math.exp(change);
    if (Math.abs(change) < PRECISION) break;
  }
  return t;
}

/** Returns the probability that |T| exceeds `t` (DLMF 8.17, Abramowitz and Stegun 26.7.1). */
function exceedance(t: number, degreesOfFreedom: number): number {
  return incompleteBeta(degreesOfFreedom / (degreesOfFreedom + t ** 2), degreesOfFreedom / 2, 0.5);
}
