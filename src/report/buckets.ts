/** A bar of a histogram. */
export interface Bucket {
  /** Upper bound in milliseconds, included; the lower bound is the previous bucket's. */
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

/** The first bucket takes everything below this percentile, so that one fast request does not stretch the axis. */
const FIRST_PERCENTILE = 1;

/** The clock's resolution. */
const MIN_MS = 1e-6;

/** Rows for what lies above the 99th percentile, where the rest lies close together. */
const TAIL_BUCKETS = 4;

/**
 * A histogram of about `most` buckets from points [percentile, ms] of a distribution. The bounds are round numbers: evenly
 * spaced where the values lie close together, else log-spaced. The share between two points is put at the higher one, which
 * is where the percentile's definition has it; nothing is interpolated. Points that end below 100 % leave the rest out.
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

/** Log-spaced bounds by the finest ladder that gives at most `most` of them, or else by the coarsest. */
function buildLadderBounds(lowest: number, highest: number, maxBounds: number): number[] {
  const candidates = LADDERS.map((ladder) => listRungs(ladder, lowest, highest));
  return candidates.find((bounds) => bounds.length <= maxBounds) ?? candidates.at(-1) ?? [];
}

/** The rungs from the first that is not below `lowest` to the first that is not below `highest`. */
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
  // The rounding drops the error of the multiplication, as in 3 * 0.1.
  const bound = (index: number) => Number(((first + index) * step).toPrecision(12));
  return Array.from({ length: last - first + 1 }, (_, index) => bound(index));
}

/** The next of 1, 2, 5, 10, 20, ... */
function roundUp(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5].find((rung) => rung * decade >= value) ?? 10;
  return factor * decade;
}
