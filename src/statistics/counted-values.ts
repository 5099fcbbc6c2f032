const SHARES = {
  p50: 0.5,
  p75: 0.75,
  p90: 0.9,
  p95: 0.95,
  p99: 0.99,
  p99_9: 0.999,
} as const;

type Percentiles = Record<keyof typeof SHARES, number>;

/** Finds the percentiles of values with their numbers, ascending: the smallest value that at least the share does not exceed. */
export function findPercentiles(
  histogram: readonly (readonly [value: number, count: number])[],
): Percentiles {
  const total = histogram.reduce((sum, [, count]) => sum + count, 0);
  const find = (share: number) => {
    let seen = 0;
    for (const [value, count] of histogram) {
      seen += count;
      if (seen >= Math.ceil(share * total)) return value;
    }
    return Number.NaN;
  };
  const names = Object.keys(SHARES) as (keyof typeof SHARES)[];
  return Object.fromEntries(names.map((name) => [name, find(SHARES[name])])) as Percentiles;
}
