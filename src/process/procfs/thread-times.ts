import { parseStat, readText, ticksPerSecond } from './procfs.js';

/** Times of a thread since its start, in nanoseconds. */
export interface ThreadTimes {
  runNs: number;
  /** Time ready without a core; `null` if the kernel does not report it. */
  queuedNs: number | null;
}

/** Whether the kernel keeps scheduling statistics; otherwise clock ticks are used. */
export const hasSchedstat = Number(readText('/proc/self/schedstat')?.split(' ')[0]) > 0;

/** The file in a thread's folder that contains its times. */
export const threadTimesFile = hasSchedstat ? 'schedstat' : 'stat';

/** Parses the text of `threadTimesFile`. */
export function parseThreadTimes(text: string): ThreadTimes {
  if (!hasSchedstat) {
    return { runNs: (parseStat(text).ticks / ticksPerSecond) * 1e9, queuedNs: null };
  }
  const [run, queued] = text.split(' ');
  return { runNs: Number(run), queuedNs: Number(queued) };
}

/** CPU time of the calling thread in milliseconds, exact to a tick of the kernel's clock; `null` without `/proc`. */
export function readOwnCpuMs(): number | null {
  const text = readText(`/proc/thread-self/${threadTimesFile}`);
  return text === null ? null : parseThreadTimes(text).runNs / 1e6;
}
