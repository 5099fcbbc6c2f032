import type { Retained } from '../hypotheses/history.js';
import type { InsideView, Observation } from '../observe/types.js';
import { findSteadyGrowth, type HeapReading, MIN_COLLECTIONS } from './heap-growth.js';

/** Windows that are remembered: with the shortest ones, some minutes; with usual ones, some hours. */
const MAX_WINDOWS = 500;

/** Minimum of the requests that ended in a window whose times describe the service. */
const MIN_REQUESTS = 20;

/**
 * Minimum share of the requests that had no other one beside them, and maximum of the requests in flight, at which a window
 * stands for single requests. With random arrivals such requests take at most a third longer than alone.
 */
const [MIN_ALONE_SHARE, MAX_IN_FLIGHT] = [0.6, 1.2];

/** Minimum growth of the heap that is reported before it is known to go on. */
const MIN_REPORTED_GROWTH_BYTES = 20e6;

/** What earlier windows say about a later one; bounded. */
export class WatchMemory {
  #quietest: { aloneShare: number; block: Observation; window: number } | null = null;
  #heaps: HeapReading[] = [];
  /** The processes whose heaps these are. */
  #collected = '';
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

  /** The heap after the first and the last full collection, if it has grown and there are too few to tell whether it keeps growing. */
  get growing(): { fromBytes: number; toBytes: number } | null {
    const [first, last] = [this.#heaps[0], this.#heaps.at(-1)];
    if (!first || !last || this.#heaps.length >= MIN_COLLECTIONS) return null;
    const hasGrown = last.bytes - first.bytes >= MIN_REPORTED_GROWTH_BYTES;
    return hasGrown ? { fromBytes: first.bytes, toBytes: last.bytes } : null;
  }

  add(block: Observation): void {
    const { inside } = block;
    this.#windows += 1;
    if (!inside) return;
    this.#requests += inside.ended.all;
    this.#addHeap(inside);
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

  #addHeap({ heap: { afterOldMb, collectedPids } }: InsideView): void {
    if (afterOldMb === null) return;
    // With one more process the sum grows, and no heap.
    const collected = [...collectedPids].sort((a, b) => a - b).join(' ');
    if (collected !== this.#collected) this.#heaps = [];
    this.#collected = collected;
    const bytes = afterOldMb * 1e6;
    if (this.#heaps.at(-1)?.bytes === bytes) return;
    this.#heaps.push({ requests: this.#requests, bytes });
    if (this.#heaps.length > MAX_WINDOWS) this.#heaps.shift();
  }
}
