import type { LoadSnapshot } from '../index.js';

/** Whoever passes the figures of a running load on. */
export interface RunFollower {
  /** Bounds of the latency buckets that its snapshots have. */
  bucketsMs: readonly number[];
  /** Follows a run until it ends. */
  follow(snapshots: AsyncIterable<LoadSnapshot>): Promise<void>;
  /** Ends, after the run. */
  close(): void | Promise<void>;
}

/** The bounds of the buckets of all followers, one after the other. */
export function joinBuckets(followers: readonly RunFollower[]): number[] {
  return followers.flatMap(({ bucketsMs }) => bucketsMs);
}

/** Lets followers follow a run whose snapshots have the buckets of all; resolves when all have seen its end. */
export async function followRun(
  run: AsyncIterable<LoadSnapshot>,
  followers: readonly RunFollower[],
): Promise<void> {
  let from = 0;
  const ends = followers.map((follower) => {
    const to = from + follower.bucketsMs.length;
    const own = follower.follow(selectBuckets(run, from, to));
    from = to;
    // The failure of the run is reported where the run is awaited.
    return own.catch(() => {});
  });
  await Promise.all(ends);
}

/** Snapshots with some of their buckets. */
async function* selectBuckets(
  snapshots: AsyncIterable<LoadSnapshot>,
  from: number,
  to: number,
): AsyncGenerator<LoadSnapshot> {
  for await (const snapshot of snapshots) {
    const byName = snapshot.byName?.map((one) => ({
      ...one,
      buckets: one.buckets.slice(from, to),
    }));
    yield { ...snapshot, ...(byName && { byName }) };
  }
}
