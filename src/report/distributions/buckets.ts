/** A bar of a histogram. */
export interface Bucket {
  /** Upper bound in milliseconds, inclusive; the lower bound is the upper bound of the previous bucket. */
  upToMs: number;
  /** Share of the samples, 0 to 1. */
  share: number;
}

/** Bounds within a decade, from fine to coarse. */
const LADDERS: readonly (readonly number[])[] = [
  [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8],
  [1, 1.5, 2, 3, 5, 7],
  [1, 2, 5],
  [1, 3],
  [1],
];

/** Percentile below which everything falls into the first bucket, so that one fast request does not stretch the axis. */
const FIRST_PERCENTILE = 1;

/** Smallest bound: the resolution of the clock. */
const MIN_MS = 1e-6;

/** Number of buckets above the 99th percentile if the values below it lie close together. */
const TAIL_BUCKETS = 4;

/**
 * Builds a histogram of about `maxBuckets` buckets from points [percentile, ms] of a distribution. The bounds are round
 * numbers, linear where the values lie close together and logarithmic otherwise. The share between two points belongs to the
 * higher one, by the definition of a percentile; nothing is interpolated. If the points end below 100 %, the rest is left
 * out.
 */
export function buildBuckets(
  points: readonly (readonly [number, number])[],
  maxBuckets: number,
): Bucket[] {
  if (points.length === 0) return [];
  const bounds = chooseBounds(points, maxBuckets);
  const shares = bounds.map(() => 0);
  let before = 0;
  for (const [percentile, ms] of points) {
    const index = bounds.findIndex((bound) => ms <= bound);
    shares[index] = (shares[index] ?? 0) + (percentile - before) / 100;
    before = percentile;
  }
  return bounds.map((upToMs, index) => ({ upToMs, share: shares[index] ?? 0 }));
}

function chooseBounds(
  points: readonly (readonly [number, number])[],
  maxBuckets: number,
): number[] {
  const at = (wanted: number) => {
    const point = points.find(([percentile]) => percentile >= wanted) ?? points.at(-1);
    return Math.max(MIN_MS, point?.[1] ?? 0);
  };
  const [lowest, body, highest] = [at(FIRST_PERCENTILE), at(99), at(100)];
  if (highest <= lowest * 4) return buildLinearBounds(lowest, highest, maxBuckets);
  if (body > lowest * 4) return buildLadderBounds(lowest, highest, maxBuckets);
  const bounds = buildLinearBounds(lowest, body, maxBuckets - TAIL_BUCKETS);
  const last = bounds.at(-1) ?? body;
  const tail = buildLadderBounds(last, highest, TAIL_BUCKETS).filter((bound) => bound > last);
  return [...bounds, ...tail];
}

/** Builds logarithmic bounds by the finest ladder with at most `maxBounds` bounds, or by the coarsest. */
function buildLadderBounds(lowest: number, highest: number, maxBounds: number): number[] {
  const candidates = LADDERS.map((ladder) => listRungs(ladder, lowest, highest));
  return candidates.find((bounds) => bounds.length <= maxBounds) ?? candidates.at(-1) ?? [];
}

/** Lists the rungs of a ladder from the first one not below `lowest` to the first one not below `highest`. */
function listRungs(ladder: readonly number[], lowest: number, highest: number): number[] {
  const bounds = [];
  for (let decade = Math.floor(Math.log10(lowest)); ; decade += 1) {
    for (const rung of ladder) {
      const bound = Number(`${rung}e${decade}`);
      if (bound >= lowest) bounds.push(bound);
      if (bound >= highest) return bounds;
    }
  }
}

function buildLinearBounds(lowest: number, highest: number, maxBounds: number): number[] {
  const step = roundUp((highest - lowest) / (maxBounds - 1) || highest / 10);
  const first = Math.ceil(lowest / step);
  const last = Math.ceil(highest / step);
  // Rounding removes floating-point errors, as in 3 * 0.1.
  const bound = (index: number) => Number(((first + index) * step).toPrecision(12));
  return Array.from({ length: last - first + 1 }, (_, index) => bound(index));
}

/** Rounds up to the next of 1, 2, 5, 10, 20, ... */
function roundUp(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5].find((rung) => rung * decade >= value) ?? 10;
  return factor * decade;
}
