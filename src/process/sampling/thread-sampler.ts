import { ProcFile } from '../procfs/proc-file.js';
import { readIds, readText } from '../procfs/procfs.js';
import { parseThreadTimes, threadTimesFile } from '../procfs/thread-times.js';
import { Counter } from './counter.js';

/** One thread over time. */
export class WatchedThread {
  readonly tid: number;
  /** Time on a core, and ready without one, in nanoseconds. */
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

  /** The name that the program gave it; a thread may get it some time after its start. */
  get name(): string {
    const name = readText(`${this.#folder}/comm`);
    if (name !== null) this.#name = name.trim();
    return this.#name;
  }

  /** Takes a reading; `false` if the thread is gone. `bornMs`: when it was known not to be there yet. */
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

/** The threads of a process over time. What a thread does after the last reading before its end is not seen. */
export class ThreadSampler {
  /** All that were seen, those that ended too. */
  readonly threads: WatchedThread[] = [];
  readonly #pid: number;
  readonly #alive = new Map<number, WatchedThread>();
  #lastMs: number | null;

  /** `bornMs`: when the process was known not to be there yet; `null` if it was there before. */
  constructor(pid: number, bornMs: number | null) {
    this.#pid = pid;
    this.#lastMs = bornMs;
  }

  /** Takes a reading; `false` if the process is gone. */
  read(): boolean {
    const nowMs = performance.now();
    // A thread that a listing misses, as happens while others end, is not gone.
    for (const [tid, thread] of this.#alive) {
      if (!thread.read(null)) this.#alive.delete(tid);
    }
    for (const tid of readIds(`/proc/${this.#pid}/task`)) {
      if (this.#alive.has(tid)) continue;
      const thread = new WatchedThread(this.#pid, tid);
      if (!thread.read(this.#lastMs)) continue;
      this.#alive.set(tid, thread);
      this.threads.push(thread);
      // Touches the name while there is one to read.
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
