/** Buckets per doubling of the duration: a bucket is 9 % wide. */
const BUCKETS_PER_OCTAVE = 8;
/** Minimum duration: 1 µs. Shorter ones count as this. */
const MIN_MS = 0.001;
/** Last bucket, of 2^27 µs (more than two minutes). Longer durations count as this. */
const LAST_BUCKET = 27 * BUCKETS_PER_OCTAVE;

/** Finds the bucket of a duration. */
export function findBucket(ms: number): number {
  if (!(ms > MIN_MS)) return 0;
  return Math.min(LAST_BUCKET, Math.floor(Math.log2(ms / MIN_MS) * BUCKETS_PER_OCTAVE));
}

/** Computes the geometric middle of a bucket in ms. */
export function computeBucketMiddle(bucket: number): number {
  return MIN_MS * 2 ** ((bucket + 0.5) / BUCKETS_PER_OCTAVE);
}

/** A distribution as counts by bucket. */
export type Buckets = Record<string, number>;

/** Counts durations by bucket. */
export class Histogram {
  readonly #counts = new Uint32Array(LAST_BUCKET + 1);

  add(ms: number): void {
    const bucket = findBucket(ms);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
  }

  /** Returns the buckets that are not empty. */
  read(): Buckets {
    const buckets: Buckets = {};
    for (const [bucket, count] of this.#counts.entries()) if (count > 0) buckets[bucket] = count;
    return buckets;
  }
}

/** Computes a quantile of a distribution in ms, accurate to the width of a bucket; `null` if it is empty. */
export function computeQuantile(buckets: Buckets, quantile: number): number | null {
  const sorted = Object.entries(buckets)
    .map(([bucket, count]) => ({ bucket: Number(bucket), count }))
    .sort((a, b) => a.bucket - b.bucket);
  const total = sorted.reduce((sum, { count }) => sum + count, 0);
  if (!(total > 0)) return null;
  let below = 0;
  for (const { bucket, count } of sorted) {
    below += count;
    if (below >= quantile * total) return computeBucketMiddle(bucket);
  }
  return computeBucketMiddle(sorted.at(-1)?.bucket ?? 0);
}
