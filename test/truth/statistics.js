/** The value at a quantile of 0 to 1: the smallest with at least that share of the values at or below it. */
export function quantile(values, q) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
}

export function median(values) {
  return quantile(values, 0.5);
}

export function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Standard deviation over mean: 1 for exponential gaps, 0 for equal ones. */
export function variation(values) {
  const m = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - m) ** 2))) / m;
}

/** Differences between neighbours. */
export function gaps(values) {
  return values.slice(1).map((value, index) => value - values[index]);
}
