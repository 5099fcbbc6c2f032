import type { ProcessSampler } from '../../process/sampling/process-sampler.js';
import type { ThreadSampler, WatchedThread } from '../../process/sampling/thread-sampler.js';
import type { Counter } from '../../statistics/counter.js';
import type { ProcessUse, ThreadUse } from './types.js';

/** A range of time; converts growth of counters into rates. */
export class RateWindow {
  readonly fromMs: number;
  readonly toMs: number;
  readonly seconds: number;

  constructor(fromMs: number, toMs: number) {
    this.fromMs = fromMs;
    this.toMs = toMs;
    this.seconds = (toMs - fromMs) / 1000;
  }

  contains(atMs: number | null): boolean {
    return atMs !== null && this.fromMs <= atMs && atMs <= this.toMs;
  }

  /** Growth per second. */
  rate(counter: Counter): number {
    return counter.growth(this.fromMs, this.toMs) / this.seconds;
  }

  rates<Name extends string>(counters: Record<Name, Counter>): Record<Name, number> {
    const entries = Object.entries<Counter>(counters);
    return Object.fromEntries(
      entries.map(([name, counter]) => [name, this.rate(counter)]),
    ) as Record<Name, number>;
  }

  /** The threads that existed in that time. */
  threads(pid: number, { threads }: ThreadSampler): ThreadUse[] {
    return threads
      .filter(({ runNs }) => runNs.covers(this.fromMs, this.toMs))
      .map((thread) => this.#thread(pid, thread));
  }

  #thread(pid: number, { tid, name, runNs, queuedNs }: WatchedThread): ThreadUse {
    // The readings are not exactly simultaneous, so a share may exceed 1.
    const share = (counter: Counter) => Math.min(1, this.rate(counter) / 1e9);
    return { pid, tid, name, run: share(runNs), queued: share(queuedNs) };
  }

  /** The process as a list; empty if it did not exist in that time. */
  process(watched: ProcessSampler): ProcessUse[] {
    const { pid, calls, majorFaults, rssBytes, openFiles, fileLimit } = watched;
    const threads = this.threads(pid, watched.threads);
    const main = threads.find(({ tid }) => tid === pid);
    if (main === undefined) return [];
    return [
      {
        pid,
        main,
        others: threads.filter((thread) => thread !== main),
        calls: calls && {
          reads: this.rate(calls.syscr),
          writes: this.rate(calls.syscw),
          writtenBytes: this.rate(calls.wchar),
          readBytes: this.rate(calls.rchar),
        },
        majorFaults: this.rate(majorFaults),
        rssMb: (rssBytes.at(this.toMs) ?? 0) / 1e6,
        openFiles: openFiles.at(this.toMs),
        fileLimit,
      },
    ];
  }
}
