/** Lanczos' approximation with g = 7 and nine terms: its constant and the coefficients of 1 / x, 1 / (x + 1), ... */
const LANCZOS_CONSTANT = 0.99999999999980993;
const LANCZOS: readonly number[] = [
  676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** Maximum terms of the continued fraction; fewer than 100 are needed for the arguments of Student's t. */
const MAX_TERMS = 1000;

/** In place of 0, by which the continued fraction would be divided. */
const TINY = 1e-300;

/** Returns the logarithm of the gamma function, for `x` > 0 (Lanczos 1964). */
function logGamma(x: number): number {
  const sum = LANCZOS.reduce((total, factor, i) => total + factor / (x + i), LANCZOS_CONSTANT);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** Returns the logarithm of the beta function, for `a` and `b` > 0. */
export function logBeta(a: number, b: number): number {
  return logGamma(a) + logGamma(b) - logGamma(a + b);
}

/**
 * Returns the regularised incomplete beta function I_x(a, b), for `a` and `b` > 0 and `x` from 0 to 1: its continued
 * fraction (DLMF 8.17.22) on the side where that converges fast.
 */
export function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(a * Math.log(x) + b * Math.log1p(-x) - logBeta(a, b)) / a;
  return front * continuedFraction(x, a, b);
}

/** Evaluates 1 / (1 + d1 / (1 + d2 / (1 + ...))) from its front (Lentz 1976). */
function continuedFraction(x: number, a: number, b: number): number {
  let numerator = 1;
  let denominator = 0;
  let value = 1;
  for (let n = 1; n <= MAX_TERMS; n++) {
    const term = coefficient(n, x, a, b);
    numerator = 1 + term / numerator || TINY;
    denominator = 1 / (1 + term * denominator || TINY);
    value *= numerator * denominator;
    if (Math.abs(numerator * denominator - 1) < 1e-15) break;
  }
  return 1 / value;
}

/** The coefficients of the fraction: DLMF 8.17.23. */
function coefficient(n: number, x: number, a: number, b: number): number {
  const m = Math.floor(n / 2);
  if (n % 2 === 0) return (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
  return (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
}
