/** A bar of a histogram. */
export interface Bucket {
  /** Upper bound in milliseconds, included; the lower bound is the previous bucket's. */
  upToMs: number;
  /** Share of the samples, 0 to 1. */
  share: number;
}

/** Bounds within a decade, from fine to coarse. */
const ladders: readonly (readonly number[])[] = [
  [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8],
  [1, 1.5, 2, 3, 5, 7],
  [1, 2, 5],
  [1, 3],
  [1],
];

/** The first bucket takes everything below this percentile, so that one fast request does not stretch the axis. */
const firstPercentile = 1;

/** The clock's resolution. */
const nanosecond = 1e-6;

/** Rows for what lies above the 99th percentile, where the rest lies close together. */
const tailRows = 4;

/**
 * A histogram of about `most` buckets from points [percentile, ms] of a distribution. The bounds are round numbers: evenly
 * spaced where the values lie close together, else log-spaced. The share between two points is put at the higher one, which
 * is where the percentile's definition has it; nothing is interpolated. Points that end below 100 % leave the rest out.
 */
export function buckets(points: readonly (readonly [number, number])[], most: number): Bucket[] {
  if (points.length === 0) return [];
  const bounds = bucketBounds(points, most);
  const shares = bounds.map(() => 0);
  let before = 0;
  for (const [percentile, ms] of points) {
    const index = bounds.findIndex((bound) => ms <= bound);
    shares[index] = (shares[index] ?? 0) + (percentile - before) / 100;
    before = percentile;
  }
  return bounds.map((upToMs, index) => ({ upToMs, share: shares[index] ?? 0 }));
}

function bucketBounds(points: readonly (readonly [number, number])[], most: number): number[] {
  const at = (wanted: number) => {
    const point = points.find(([percentile]) => percentile >= wanted) ?? points.at(-1);
    return Math.max(nanosecond, point?.[1] ?? 0);
  };
  const [lowest, body, highest] = [at(firstPercentile), at(99), at(100)];
  if (highest <= lowest * 4) return linearBounds(lowest, highest, most);
  if (body > lowest * 4) return ladderBounds(lowest, highest, most);
  const bounds = linearBounds(lowest, body, most - tailRows);
  const last = bounds.at(-1) ?? body;
  const tail = ladderBounds(last, highest, tailRows).filter((bound) => bound > last);
  return [...bounds, ...tail];
}

/** Log-spaced bounds by the finest ladder that gives at most `most` of them, or else by the coarsest. */
function ladderBounds(lowest: number, highest: number, most: number): number[] {
  const candidates = ladders.map((ladder) => rungs(ladder, lowest, highest));
  return candidates.find((bounds) => bounds.length <= most) ?? candidates.at(-1) ?? [];
}

/** The rungs from the first that is not below `lowest` to the first that is not below `highest`. */
function rungs(ladder: readonly number[], lowest: number, highest: number): number[] {
  const bounds = [];
  for (let decade = Math.floor(Math.log10(lowest)); ; decade += 1) {
    for (const rung of ladder) {
      const bound = Number(`${rung}e${decade}`);
      if (bound >= lowest) bounds.push(bound);
      if (bound >= highest) return bounds;
    }
  }
}

function linearBounds(lowest: number, highest: number, most: number): number[] {
  const step = roundUp((highest - lowest) / (most - 1) || highest / 10);
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
