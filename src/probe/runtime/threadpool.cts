import { stat } from 'node:fs';
import { afterPoll, ignoreErrors, now } from './clock.cjs';
import { readIdleMs } from './event-loop.cjs';

/**
 * How long a trivial job of the thread pool takes.
 *
 * Its completion also waits for the loop, which must not count. A job that was done before the loop last polled would
 * have been told then. When that was is not known, only the ends of the iterations are, so: it was still in the pool
 * at the end of the iteration before the last. From there on only the time counts in which the loop waited for events.
 * The result is too short by at most the busy time of two iterations.
 */
export class ThreadPool {
  readonly counters = { poolSamples: 0, poolMs: 0 };
  longestMs = 0;
  #isPending = false;

  /** Puts one job into the pool, unless the last is still there. */
  sample(): void {
    if (this.#isPending) return;
    this.#isPending = true;
    const from = now();
    let last = { at: from, idleMs: readIdleMs() };
    let before = last;
    const onIteration = () => {
      if (!this.#isPending) return;
      before = last;
      last = { at: now(), idleMs: readIdleMs() };
      afterPoll(onIteration);
    };
    afterPoll(onIteration);
    stat(
      '/',
      ignoreErrors(() => {
        this.#isPending = false;
        const ms = before.at - from + Math.max(0, readIdleMs() - before.idleMs);
        this.counters.poolSamples++;
        this.counters.poolMs += ms;
        if (ms > this.longestMs) this.longestMs = ms;
      }),
    );
  }
}
