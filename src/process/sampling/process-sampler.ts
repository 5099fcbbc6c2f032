import { Counter } from '../../statistics/counter.js';
import { countDescriptors, readDescriptorLimit } from '../procfs/descriptors.js';
import { ProcFile } from '../procfs/proc-file.js';
import { pageSize, parseStat, ticksPerSecond } from '../procfs/procfs.js';
import { Gauge } from './gauge.js';
import { ThreadSampler } from './thread-sampler.js';

/** Counters of one process over time. */
export class ProcessSampler {
  readonly pid: number;
  readonly threads: ThreadSampler;
  /** System calls and bytes of the first thread, by their names in `io`; `null` if they cannot be read. */
  calls: { syscr: Counter; syscw: Counter; rchar: Counter; wchar: Counter } | null = null;
  readonly majorFaults = new Counter();
  /** CPU time of ended children that have been waited for. */
  readonly endedChildrenMs = new Counter();
  readonly rssBytes = new Gauge();
  readonly openFiles = new Gauge();
  fileLimit: number | null = null;
  /**
   * CPU time of the process and its ended children before the first reading; without its own if the process is newer
   * than the observation.
   */
  beforeMs = 0;
  /** When the process was found to have ended. */
  endedMs: number | null = null;
  #isFirst = true;
  readonly #isNew: boolean;
  readonly #stat: ProcFile;
  readonly #io: ProcFile;

  /** @param bornMs a time before the process existed; `null` if it existed before the observation */
  constructor(pid: number, bornMs: number | null) {
    this.pid = pid;
    this.#isNew = bornMs !== null;
    this.threads = new ThreadSampler(pid, bornMs);
    this.#stat = new ProcFile(`/proc/${pid}/stat`);
    this.#io = new ProcFile(`/proc/${pid}/task/${pid}/io`);
  }

  /** Takes a reading; returns `false` if the process has ended. */
  read(): boolean {
    this.#readCalls();
    const text = this.#stat.read();
    if (text !== null) {
      const { majorFaults, rssPages, ticks, childTicks } = parseStat(text);
      const atMs = performance.now();
      this.majorFaults.add(atMs, majorFaults);
      this.endedChildrenMs.add(atMs, (childTicks / ticksPerSecond) * 1000);
      if (this.#isFirst) {
        const own = this.#isNew ? 0 : ticks;
        this.beforeMs = ((own + childTicks) / ticksPerSecond) * 1000;
      }
      this.#isFirst = false;
      // An ending process has no memory left, which says nothing about its usage.
      if (rssPages > 0) this.rssBytes.add(atMs, rssPages * pageSize);
    }
    const isThere = this.threads.read();
    if (!isThere) this.endedMs ??= performance.now();
    return isThere;
  }

  /** CPU time of its threads and ended children since the first reading. */
  get sinceMs(): number {
    const now = performance.now();
    const runNs = this.threads.threads.map((thread) => thread.runNs.growth(0, now));
    const ownMs = runNs.reduce((sum, ns) => sum + ns, 0) / 1e6;
    return ownMs + this.endedChildrenMs.growth(0, now);
  }

  /** Counts the descriptors, which may take some time if there are many. */
  readDescriptors(): void {
    const openFiles = countDescriptors(this.pid);
    if (openFiles !== null) this.openFiles.add(performance.now(), openFiles);
    this.fileLimit = readDescriptorLimit(this.pid) ?? this.fileLimit;
  }

  close(): void {
    this.#stat.close();
    this.#io.close();
    this.threads.close();
  }

  #readCalls(): void {
    const text = this.#io.read();
    if (text === null) return;
    this.calls ??= {
      syscr: new Counter(),
      syscw: new Counter(),
      rchar: new Counter(),
      wchar: new Counter(),
    };
    const atMs = performance.now();
    for (const [name, counter] of Object.entries(this.calls)) {
      counter.add(atMs, parseIo(text, name));
    }
  }
}

function parseIo(text: string, name: string): number {
  const begin = text.indexOf(`${name}: `) + name.length + 2;
  return Number.parseInt(text.slice(begin, begin + 20), 10);
}
