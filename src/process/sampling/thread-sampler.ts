import { Counter } from '../../statistics/counter.js';
import { ProcFile } from '../procfs/proc-file.js';
import { readIds, readText } from '../procfs/procfs.js';
import { parseThreadTimes, threadTimesFile } from '../procfs/thread-times.js';

/** Counters of one thread over time. */
export class WatchedThread {
  readonly tid: number;
  /** Time on a core, and time ready without one, in nanoseconds. */
  readonly runNs = new Counter();
  readonly queuedNs = new Counter();
  readonly #folder: string;
  readonly #times: ProcFile;
  #name: string;

  constructor(pid: number, tid: number) {
    this.tid = tid;
    this.#folder = `/proc/${pid}/task/${tid}`;
    this.#times = new ProcFile(`${this.#folder}/${threadTimesFile}`);
    this.#name = '';
  }

  /** The name that the program gave it; a thread may get its name some time after its start. */
  get name(): string {
    const name = readText(`${this.#folder}/comm`);
    if (name !== null) this.#name = name.trim();
    return this.#name;
  }

  /**
   * Takes a reading; returns `false` if the thread has ended.
   *
   * @param bornMs a time before the thread existed; `null` if unknown
   */
  read(bornMs: number | null): boolean {
    const text = this.#times.read();
    if (text === null) return false;
    const atMs = performance.now();
    const { runNs, queuedNs } = parseThreadTimes(text);
    if (bornMs !== null) {
      this.runNs.add(bornMs, 0);
      this.queuedNs.add(bornMs, 0);
    }
    this.runNs.add(atMs, runNs);
    this.queuedNs.add(atMs, queuedNs ?? 0);
    return true;
  }

  close(): void {
    this.#times.close();
  }
}

/** The threads of a process over time. Activity between a thread's last reading and its end is not seen. */
export class ThreadSampler {
  /** All threads that were seen, including ended ones. */
  readonly threads: WatchedThread[] = [];
  readonly #pid: number;
  readonly #alive = new Map<number, WatchedThread>();
  #lastMs: number | null;

  /** @param bornMs a time before the process existed; `null` if it existed before the observation */
  constructor(pid: number, bornMs: number | null) {
    this.#pid = pid;
    this.#lastMs = bornMs;
  }

  /** Takes a reading; returns `false` if the process has ended. */
  read(): boolean {
    const nowMs = performance.now();
    // A listing may miss a thread while others end; that thread is still alive.
    for (const [tid, thread] of this.#alive) {
      if (!thread.read(null)) this.#alive.delete(tid);
    }
    for (const tid of readIds(`/proc/${this.#pid}/task`)) {
      if (this.#alive.has(tid)) continue;
      const thread = new WatchedThread(this.#pid, tid);
      if (!thread.read(this.#lastMs)) continue;
      this.#alive.set(tid, thread);
      this.threads.push(thread);
      // Reads the name while the thread exists.
      void thread.name;
    }
    this.#lastMs = nowMs;
    return this.#alive.size > 0;
  }

  close(): void {
    for (const thread of this.#alive.values()) thread.close();
    this.#alive.clear();
  }
}
