import { maskArguments } from '../../masking/text.js';
import { findProcessTree } from '../discovery/process-tree.js';
import { hasProcfs, pageSize, readText } from '../procfs/procfs.js';
import { createCpuMeter, type ThreadGroupUse } from './thread-cpu.js';

/** One sample of a process tree. */
export interface ProcessSample {
  /** Time of the sample, on the clock of `performance.now()`. */
  tMs: number;
  /** Mean CPU in cores since the previous sample. */
  cpu: number;
  /** Resident memory of all processes in MB (10^6 bytes); shared memory counts for each process. */
  rssMb: number;
}

/** Resource usage of a process tree during a measurement. */
export interface ServerReadings {
  pid: number;
  /** The command line, shortened. */
  command: string;
  /** Maximum number of processes alive at a time. */
  processes: number;
  /** Mean CPU in cores by group of threads, and the maximum number of threads alive at a time. The sum is `cpuMean`. */
  threads: { group: string; threads: number; cpu: number }[];
  cpuMean: number;
  rssMaxMb: number;
  series: ProcessSample[];
}

/** A running sampler. */
export interface ProcessTreeSampler {
  /**
   * Takes a last sample and returns the readings between two times on the clock of `performance.now()`; by default from
   * the start to now. `null` if nothing could be read: no such process, no `/proc`.
   */
  stop(from?: number, to?: number): ServerReadings | null;
}

/** Usage between two samples; the memory is that of the second one. */
interface Interval {
  from: number;
  to: number;
  processes: number;
  groups: Map<string, ThreadGroupUse>;
  rssMb: number;
}

/**
 * Samples CPU and memory of a process and its descendants from `/proc` until it is stopped. Sampling one Node.js
 * process costs about 0.2 ms: at the default interval 0.2% of a core. The timer does not keep this process alive.
 *
 * @example
 * const sampler = sampleProcesses(pid, ({ cpu }) => console.log(cpu));
 * const from = performance.now();
 * await measure();
 * const readings = sampler.stop(from, performance.now());
 */
export function sampleProcesses(
  pid: number,
  onSample?: (sample: ProcessSample) => void,
  intervalMs = 100,
): ProcessTreeSampler {
  const command = hasProcfs ? readCommand(pid) : null;
  if (command === null) return { stop: () => null };

  const readCpu = createCpuMeter();
  const intervals: Interval[] = [];
  let last = performance.now();
  readCpu(findProcessTree(pid));

  const sample = () => {
    const from = last;
    last = performance.now();
    const tree = findProcessTree(pid);
    const groups = readCpu(tree);
    if (groups.size === 0 || last === from) return;
    const interval = { from, to: last, processes: tree.length, groups, rssMb: readRssMb(tree) };
    intervals.push(interval);
    if (intervals.length >= MAX_INTERVALS) joinPairs(intervals);
    onSample?.(toSample(interval));
  };
  const timer = setInterval(sample, intervalMs).unref();

  return {
    stop(from = 0, to = Number.POSITIVE_INFINITY) {
      clearInterval(timer);
      sample();
      return summarize(pid, command, intervals, from, to);
    },
  };
}

/** Maximum number of intervals that are kept: an hour of the default ones. A run of days would have millions. */
const MAX_INTERVALS = 36_000;

/** Joins each interval with the next one. */
function joinPairs(intervals: Interval[]): void {
  const joined = [];
  for (let index = 0; index < intervals.length; index += 2) {
    const [first, second] = intervals.slice(index, index + 2);
    if (first) joined.push(second ? joinIntervals(first, second) : first);
  }
  intervals.splice(0, intervals.length, ...joined);
}

function joinIntervals(first: Interval, second: Interval): Interval {
  const groups = new Map(first.groups);
  for (const [group, use] of second.groups) {
    const before = groups.get(group) ?? { threads: 0, cpuNs: 0 };
    const threads = Math.max(before.threads, use.threads);
    groups.set(group, { ...use, threads, cpuNs: before.cpuNs + use.cpuNs });
  }
  return {
    from: first.from,
    to: second.to,
    processes: Math.max(first.processes, second.processes),
    groups,
    rssMb: Math.max(first.rssMb, second.rssMb),
  };
}

function summarize(
  pid: number,
  command: string,
  intervals: Interval[],
  from: number,
  to: number,
): ServerReadings | null {
  const groups = new Map<string, { threads: number; cpuNs: number }>();
  const series: ProcessSample[] = [];
  let [coveredMs, processes, rssMaxMb] = [0, 0, 0];
  for (const interval of intervals) {
    const overlap = Math.min(interval.to, to) - Math.max(interval.from, from);
    if (overlap <= 0) continue;
    const share = overlap / (interval.to - interval.from);
    coveredMs += overlap;
    processes = Math.max(processes, interval.processes);
    for (const [group, use] of interval.groups) {
      const sum = groups.get(group) ?? { threads: 0, cpuNs: 0 };
      const threads = Math.max(sum.threads, use.threads);
      groups.set(group, { threads, cpuNs: sum.cpuNs + use.cpuNs * share });
    }
    rssMaxMb = Math.max(rssMaxMb, interval.rssMb);
    // An interval that lies mostly outside does not represent the measurement.
    if (share >= 0.5) series.push(toSample(interval));
  }
  if (coveredMs === 0) return null;
  const threads = [...groups]
    .map(([group, use]) => ({ group, threads: use.threads, cpu: use.cpuNs / 1e6 / coveredMs }))
    .sort((a, b) => Number(b.group === 'main') - Number(a.group === 'main') || b.cpu - a.cpu);
  const cpuMean = threads.reduce((sum, group) => sum + group.cpu, 0);
  return { pid, command, processes, threads, cpuMean, rssMaxMb, series };
}

function toSample(interval: Interval): ProcessSample {
  const cpuNs = [...interval.groups.values()].reduce((sum, use) => sum + use.cpuNs, 0);
  return {
    tMs: interval.to,
    cpu: cpuNs / 1e6 / (interval.to - interval.from),
    rssMb: interval.rssMb,
  };
}

function readRssMb(pids: number[]): number {
  const pages = pids.map((pid) => Number(readText(`/proc/${pid}/statm`)?.split(' ')[1] ?? 0));
  return (pages.reduce((sum, count) => sum + count, 0) * pageSize) / 1e6;
}

const MAX_COMMAND_LENGTH = 80;

function readCommand(pid: number): string | null {
  const words = readText(`/proc/${pid}/cmdline`)?.split('\0');
  if (words === undefined) return null;
  const text = maskArguments(words).join(' ').trim();
  return text.length > MAX_COMMAND_LENGTH ? `${text.slice(0, MAX_COMMAND_LENGTH - 1)}…` : text;
}
