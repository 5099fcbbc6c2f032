import { ticksPerSecond } from './procfs.js';

/** CPU times of all cores since the machine started, in seconds of one core. */
export interface MachineCpu {
  /** In programs, and in the kernel on their behalf. */
  busy: number;
  /** In interrupt handlers; many kernels also charge this to the interrupted thread. */
  interrupts: number;
  /** Idle, or waiting only for the disk. */
  idle: number;
  /** Withheld by the host of the virtual machine. */
  steal: number;
}

/** Demand for the cores: the time they were busy, or would have been. */
export function computeDemand({ busy, interrupts, steal }: MachineCpu): number {
  return busy + interrupts + steal;
}

/** Parses the first line of `/proc/stat`, see proc_stat(5). */
export function parseMachineCpu(text: string): MachineCpu | null {
  const line = /^cpu\s+(.+)/.exec(text)?.[1];
  return line === undefined ? null : parseTimes(line);
}

/** Sums the times of some cores; offline cores have no line. */
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
  // `user` and `nice` include guests.
  return { busy: user + nice + system, interrupts: irq + softirq, idle: idle + iowait, steal };
}
