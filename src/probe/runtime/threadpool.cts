import { stat } from 'node:fs';
import { afterPoll, now, quiet } from './clock.cjs';
import { idleMs } from './event-loop.cjs';

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
  #waits = false;

  /** Puts one job into the pool, unless the last is still there. */
  sample(): void {
    if (this.#waits) return;
    this.#waits = true;
    const from = now();
    let last = { at: from, idleMs: idleMs() };
    let before = last;
    const turned = () => {
      if (!this.#waits) return;
      before = last;
      last = { at: now(), idleMs: idleMs() };
      afterPoll(turned);
    };
    afterPoll(turned);
    stat(
      '/',
      quiet(() => {
        this.#waits = false;
        const ms = before.at - from + Math.max(0, idleMs() - before.idleMs);
        this.counters.poolSamples++;
        this.counters.poolMs += ms;
        if (ms > this.longestMs) this.longestMs = ms;
      }),
    );
  }
}
