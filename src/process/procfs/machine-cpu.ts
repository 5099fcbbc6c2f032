import { ticksPerSecond } from './procfs.js';

/** What all cores together did since the machine started, in seconds of one core. */
export interface MachineCpu {
  /** In programs and in the kernel for them. */
  busy: number;
  /** In handlers of interrupts; many kernels charge this to the thread that was interrupted as well. */
  interrupts: number;
  /** Nothing to do, or only the disk to wait for. */
  idle: number;
  /** Kept by the machine's host for others. */
  steal: number;
}

/** What was wanted of the cores: they were busy, or would have been. */
export function wantedOf({ busy, interrupts, steal }: MachineCpu): number {
  return busy + interrupts + steal;
}

/** The first line of `/proc/stat`, see proc_stat(5). */
export function parseMachineCpu(text: string): MachineCpu | null {
  const line = /^cpu\s+(.+)/.exec(text)?.[1];
  return line === undefined ? null : parseTimes(line);
}

/** What some of the cores did, see `parseMachineCpu`; those that are offline have no line. */
export function parseCores(text: string, cores: Set<number>): MachineCpu {
  const lines = [...text.matchAll(/^cpu(\d+)\s+(.+)/gm)];
  const sum: MachineCpu = { busy: 0, interrupts: 0, idle: 0, steal: 0 };
  for (const [, core, line = ''] of lines) {
    if (!cores.has(Number(core))) continue;
    const { busy, interrupts, idle, steal } = parseTimes(line);
    sum.busy += busy;
    sum.interrupts += interrupts;
    sum.idle += idle;
    sum.steal += steal;
  }
  return sum;
}

function parseTimes(line: string): MachineCpu {
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] =
    line.split(' ').map((ticks) => Number(ticks) / ticksPerSecond);
  // Guests are in `user` and `nice` already.
  return { busy: user + nice + system, interrupts: irq + softirq, idle: idle + iowait, steal };
}
