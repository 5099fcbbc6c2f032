import { stat } from 'node:fs';
import { afterPoll, ignoreErrors, now } from './clock.cjs';
import { readIdleMs } from './event-loop.cjs';

/**
 * Measures how long a trivial job of the thread pool takes.
 *
 * Its completion also waits for the loop, which must not count. A job that was done before the loop last polled would
 * have been reported then. The time of the last poll is unknown; only the ends of iterations are known. So the job was
 * still in the pool at the end of the iteration before the last one, and from then on only the loop's idle time counts.
 * The result is too short by at most the busy time of two iterations.
 */
export class ThreadPool {
  readonly counters = { poolSamples: 0, poolMs: 0 };
  longestMs = 0;
  #isPending = false;
  #idleMsAtStart = 0;

  /** Submits one job, unless the previous one is still pending: its time so far counts as the longest then. */
  sample(): void {
    if (this.#isPending) {
      // The loop would have reported the end of the job while it was idle.
      this.longestMs = Math.max(this.longestMs, readIdleMs() - this.#idleMsAtStart);
      return;
    }
    this.#isPending = true;
    const from = now();
    let last = { at: from, idleMs: readIdleMs() };
    this.#idleMsAtStart = last.idleMs;
    let before = last;
    const onIteration = () => {
      if (!this.#isPending) return;
      before = last;
      last = { at: now(), idleMs: readIdleMs() };
      afterPoll(onIteration);
    };
    afterPoll(onIteration);
    const onDone = ignoreErrors((error: NodeJS.ErrnoException | null) => {
      this.#isPending = false;
      // Without the permission there was no job.
      if (error?.code === 'ERR_ACCESS_DENIED') return;
      const ms = before.at - from + Math.max(0, readIdleMs() - before.idleMs);
      this.counters.poolSamples++;
      this.counters.poolMs += ms;
      if (ms > this.longestMs) this.longestMs = ms;
    });
    try {
      stat('/', onDone);
    } catch {
      this.#isPending = false;
    }
  }
}
