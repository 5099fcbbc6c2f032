import { median } from '../../statistics/median.js';
import type { Retained } from '../hypotheses/history.js';
import type { Observation } from '../observe/types.js';

/** Windows that are remembered: with the shortest ones, some minutes; with usual ones, some hours. */
const MAX_WINDOWS = 500;

/** Minimum of the requests that ended in a window whose times describe the service. */
const MIN_REQUESTS = 20;

/**
 * Minimum share of the requests that had no other one beside them, and maximum of the requests in flight, at which a window
 * stands for single requests. With random arrivals such requests take at most a third longer than alone.
 */
const [MIN_ALONE_SHARE, MAX_IN_FLIGHT] = [0.6, 1.2];

/** Minimum number of full collections whose heaps tell growth from chance. */
const MIN_COLLECTIONS = 4;

/** Minimum share of the collections after which the heap is larger than after the one before, if it grows steadily. */
const MIN_RISES = 0.8;

/** Minimum growth of the heap in the later half of the collections, as a share of that in the earlier half. */
const MIN_STEADY_GROWTH = 0.6;

/** Minimum growth of the heap, in bytes, that is told before it is known to go on. */
const MIN_TOLD_GROWTH = 20e6;

/** The heap of all processes after a full collection, and the requests answered until then. */
interface HeapReading {
  requests: number;
  bytes: number;
}

/** What earlier windows say about a later one; bounded. */
export class WatchMemory {
  #quietest: { aloneShare: number; block: Observation; window: number } | null = null;
  readonly #heaps: HeapReading[] = [];
  #windows = 0;
  #requests = 0;

  /** The window that stands for single requests; `null` if there was none yet. */
  get quietest(): Observation | null {
    return this.#quietest?.block ?? null;
  }

  /** The heap after full collections before and after some requests, if it grew steadily; otherwise `null`. */
  get retained(): Retained | null {
    return findSteadyGrowth(this.#heaps);
  }

  /** The heap after the first and the last full collection, if it has grown and more of them have to tell whether it goes on. */
  get growing(): { fromBytes: number; toBytes: number } | null {
    const [first, last] = [this.#heaps[0], this.#heaps.at(-1)];
    if (!first || !last || this.#heaps.length >= MIN_COLLECTIONS) return null;
    const hasGrown = last.bytes - first.bytes >= MIN_TOLD_GROWTH;
    return hasGrown ? { fromBytes: first.bytes, toBytes: last.bytes } : null;
  }

  add(block: Observation): void {
    const { inside } = block;
    this.#windows += 1;
    if (!inside) return;
    this.#requests += inside.ended.all;
    this.#addHeap(inside.heap.afterOldMb);
    const { all, alone } = inside.ended;
    const aloneShare = alone / Math.max(1, all);
    if (all < MIN_REQUESTS || aloneShare < MIN_ALONE_SHARE || inside.inFlight > MAX_IN_FLIGHT) {
      return;
    }
    const last = this.#quietest;
    const isOld = last !== null && this.#windows - last.window > MAX_WINDOWS;
    // A later window describes the service better: its code is compiled by then.
    if (last === null || isOld || aloneShare >= 0.95 * last.aloneShare) {
      this.#quietest = { aloneShare, block, window: this.#windows };
    }
  }

  #addHeap(afterOldMb: number | null): void {
    if (afterOldMb === null) return;
    const bytes = afterOldMb * 1e6;
    if (this.#heaps.at(-1)?.bytes === bytes) return;
    this.#heaps.push({ requests: this.#requests, bytes });
    if (this.#heaps.length > MAX_WINDOWS) this.#heaps.shift();
  }
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
    requests: last.requests - first.requests,
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
