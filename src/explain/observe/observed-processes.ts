import { ProcessSampler } from '../../process/sampling/process-sampler.js';
import type { RateWindow } from './rate-window.js';
import type { ProcessUse, ThreadUse } from './types.js';

/** Processes that are observed together: those of the server, or those of what it calls. */
export class ObservedProcesses {
  /** Includes the ended ones. */
  readonly #all: ProcessSampler[] = [];
  readonly #alive = new Map<number, ProcessSampler>();

  /**
   * Adds the processes that are not observed yet.
   *
   * @param bornMs a time before they existed; `null` if they may have existed before the observation
   */
  add(pids: number[], bornMs: number | null): void {
    for (const pid of pids) {
      if (this.#alive.has(pid)) continue;
      const sampler = new ProcessSampler(pid, bornMs);
      this.#alive.set(pid, sampler);
      this.#all.push(sampler);
    }
  }

  read(): void {
    for (const [pid, sampler] of this.#alive) {
      if (!sampler.read()) {
        this.#alive.delete(pid);
        sampler.close();
      }
    }
  }

  /** Counts the descriptors of each process, which takes longer than `read`. */
  readDescriptors(): void {
    for (const sampler of this.#alive.values()) sampler.readDescriptors();
  }

  close(): void {
    for (const sampler of this.#alive.values()) sampler.close();
  }

  /** The processes that existed in a time. */
  use(window: RateWindow): ProcessUse[] {
    return this.#all.flatMap((sampler) => window.process(sampler));
  }

  /** Cores that the processes used in a time, with their ended children. */
  computeCores(window: RateWindow): number {
    const running = this.use(window).flatMap(({ main, others }) => [main, ...others]);
    return sumRunShares(running) + this.#computeEndedChildrenCores(window);
  }

  /**
   * Cores used by ended children, without what was counted while they were observed. Children that serve one request
   * live too short to be observed.
   */
  #computeEndedChildrenCores(window: RateWindow): number {
    const all = this.#all.map(({ endedChildrenMs }) => window.rate(endedChildrenMs) / 1000);
    const watched = this.#all.filter(({ endedMs }) => window.contains(endedMs));
    const known = watched.map(
      ({ sinceMs, beforeMs }) => (sinceMs + beforeMs) / 1000 / window.seconds,
    );
    const sum = (cores: number[]) => cores.reduce((some, more) => some + more, 0);
    return Math.max(0, sum(all) - sum(known));
  }
}

/** Adds up the cores that threads used. */
export function sumRunShares(threads: ThreadUse[]): number {
  return threads.reduce((sum, { run }) => sum + run, 0);
}
