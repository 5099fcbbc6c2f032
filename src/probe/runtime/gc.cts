import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { ignoreErrors, now } from './clock.cjs';

const { NODE_PERFORMANCE_GC_MINOR, NODE_PERFORMANCE_GC_MAJOR } = constants;
/** How long a collection is kept; stalls are evaluated within an iteration of the loop. */
const HISTORY_MS = 1000;

/** Garbage collections, which Node.js reports afterwards. */
export class GarbageCollections {
  readonly counters = { gcYoungMs: 0, gcOldMs: 0, gcOtherMs: 0 };
  longestMs = 0;
  heapAfterOld: number | null = null;
  #recent: { from: number; to: number }[] = [];
  #observer: PerformanceObserver | null = null;

  observe(on: boolean): void {
    this.#observer?.disconnect();
    this.#observer = null;
    if (!on) return;
    this.#observer = new PerformanceObserver(
      ignoreErrors((list) => {
        for (const entry of list.getEntries()) this.#add(entry);
      }),
    );
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  #add({ startTime, duration, detail }: { startTime: number; duration: number; detail?: unknown }) {
    const { kind } = detail as { kind: number };
    if (kind === NODE_PERFORMANCE_GC_MINOR) this.counters.gcYoungMs += duration;
    else if (kind !== NODE_PERFORMANCE_GC_MAJOR) this.counters.gcOtherMs += duration;
    else {
      this.counters.gcOldMs += duration;
      this.heapAfterOld = getHeapStatistics().used_heap_size;
    }
    if (duration > this.longestMs) this.longestMs = duration;
    const since = now() - HISTORY_MS;
    this.#recent = this.#recent.filter(({ to }) => to > since);
    this.#recent.push({ from: startTime, to: startTime + duration });
  }

  /** Sums the time of collections in a recent range of time. */
  sumBetween(from: number, to: number): number {
    return this.#recent.reduce(
      (sum, one) => sum + Math.max(0, Math.min(to, one.to) - Math.max(from, one.from)),
      0,
    );
  }
}
