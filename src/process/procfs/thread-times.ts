import { parseStat, readText, ticksPerSecond } from './procfs.js';

/** What a thread did since it began, in nanoseconds. */
export interface ThreadTimes {
  runNs: number;
  /** Ready to run without a core; `null` where the kernel does not tell. */
  queuedNs: number | null;
}

/** The kernel may be built or started without scheduling statistics; then the clock ticks have to do. */
export const hasSchedstat = Number(readText('/proc/self/schedstat')?.split(' ')[0]) > 0;

/** The file in a thread's folder that tells its times. */
export const threadTimesFile = hasSchedstat ? 'schedstat' : 'stat';

/** What `threadTimesFile` says. */
export function parseThreadTimes(text: string): ThreadTimes {
  if (!hasSchedstat) {
    return { runNs: (parseStat(text).ticks / ticksPerSecond) * 1e9, queuedNs: null };
  }
  const [run, queued] = text.split(' ');
  return { runNs: Number(run), queuedNs: Number(queued) };
}

/** CPU time of the calling thread in milliseconds, exact to a tick of the kernel's clock; `null` without `/proc`. */
export function ownCpuMs(): number | null {
  const text = readText(`/proc/thread-self/${threadTimesFile}`);
  return text === null ? null : parseThreadTimes(text).runNs / 1e6;
}
