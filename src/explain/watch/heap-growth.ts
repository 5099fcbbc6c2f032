import { median } from '../../statistics/median.js';
import type { Retained } from '../hypotheses/history.js';

/** Minimum number of full collections whose heaps tell growth from chance. */
export const MIN_COLLECTIONS = 4;

/** Minimum share of the collections after which the heap is larger than after the one before, if it grows steadily. */
const MIN_RISES = 0.8;

/** Minimum growth of the heap in the later half of the collections, as a share of that in the earlier half. */
const MIN_STEADY_GROWTH = 0.6;

/** The heap of all processes after a full collection, and the requests answered until then. */
export interface HeapReading {
  requests: number;
  bytes: number;
}

/** Finds growth of the heap that is no chance, and not the filling of a cache, which slows down. */
export function findSteadyGrowth(heaps: readonly HeapReading[]): Retained | null {
  if (heaps.length < MIN_COLLECTIONS) return null;
  const third = Math.floor(heaps.length / 3);
  const [first, middle, last] = [
    heaps.slice(0, third),
    heaps.slice(third, heaps.length - third),
    heaps.slice(-third),
  ].map(findMiddle);
  if (!first || !middle || !last || last.requests === first.requests) return null;
  const rises = heaps.slice(1).filter(({ bytes }, index) => bytes > (heaps[index]?.bytes ?? 0));
  const [earlier, later] = [computeSlope(first, middle), computeSlope(middle, last)];
  const isSteady =
    rises.length >= MIN_RISES * (heaps.length - 1) && later >= MIN_STEADY_GROWTH * earlier;
  return {
    requests: Math.round(last.requests - first.requests),
    beforeBytes: first.bytes,
    afterBytes: isSteady ? last.bytes : first.bytes,
  };
}

function findMiddle(some: readonly HeapReading[]): HeapReading {
  return {
    requests: median(some.map(({ requests }) => requests)),
    bytes: median(some.map(({ bytes }) => bytes)),
  };
}

function computeSlope(from: HeapReading, to: HeapReading): number {
  return (to.bytes - from.bytes) / Math.max(1, to.requests - from.requests);
}
