import { readExecutableName } from '../procfs/executable-name.js';
import { readIds, readText } from '../procfs/procfs.js';
import { parseThreadTimes, threadTimesFile } from '../procfs/thread-times.js';

/** Usage of a group of threads between two readings. */
export interface ThreadGroupUse {
  threads: number;
  cpuNs: number;
}

/**
 * Creates a meter of the CPU time of all threads of some processes. Each call returns the usage since the previous
 * call; the first one returns zeros. Groups: `main` contains the first thread of each process (in Node.js: JavaScript),
 * other threads are grouped by the name that the program gave them, and `other threads` have none.
 *
 * Usage between a thread's last reading and its end is not seen.
 */
export function createCpuMeter(): (pids: number[]) => Map<string, ThreadGroupUse> {
  // By `pid/tid`. Kept if a reading misses a thread: otherwise its whole past would count when it reappears.
  const known = new Map<string, { group: string; cpuNs: number }>();
  let first = true;

  return (pids) => {
    const use = new Map<string, ThreadGroupUse>();
    for (const pid of pids) {
      for (const tid of readIds(`/proc/${pid}/task`)) {
        const cpuNs = readCpu(`/proc/${pid}/task/${tid}`);
        if (cpuNs === null) continue;
        const id = `${pid}/${tid}`;
        const before = known.get(id) ?? { group: nameGroup(pid, tid), cpuNs: first ? cpuNs : 0 };
        known.set(id, { group: before.group, cpuNs });
        const sum = use.get(before.group) ?? { threads: 0, cpuNs: 0 };
        use.set(before.group, {
          threads: sum.threads + 1,
          cpuNs: sum.cpuNs + Math.max(0, cpuNs - before.cpuNs),
        });
      }
    }
    first = false;
    return use;
  };
}

function readCpu(folder: string): number | null {
  const text = readText(`${folder}/${threadTimesFile}`);
  return text === null ? null : parseThreadTimes(text).runNs;
}

const MAX_NAME_LENGTH = 15;

function nameGroup(pid: number, tid: number): string {
  if (tid === pid) return 'main';
  const name = readName(`/proc/${pid}/task/${tid}`);
  const executable = readExecutableName(pid)?.slice(0, MAX_NAME_LENGTH);
  const inherited = [readName(`/proc/${pid}`), executable ?? ''];
  if (name === '' || inherited.includes(name)) return 'other threads';
  // The threads of a pool are often numbered.
  return name.replace(/[-_#: ]*\d+$/, '') || name;
}

function readName(folder: string): string {
  return readText(`${folder}/comm`)?.trim() ?? '';
}
