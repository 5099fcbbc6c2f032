import type { ProbedProcess } from './process.js';

/** A process that ended with a full heap. */
export interface HeapExhaustion {
  pid: number;
  heapUsedMb: number;
  heapLimitMb: number;
  /** Requests that the process had answered. */
  requests: number;
}

/** Share of its limit above which a heap counts as full; it is read twice a second. */
const MIN_FULL_SHARE = 0.75;
/** V8's limit includes the young generation: three semi-spaces. */
const SEMI_SPACES = 3;

/** Returns a process that has ended as a list, if its heap was full at the last reading; otherwise an empty list. */
export function findHeapExhaustion({ hello, samples }: ProbedProcess): HeapExhaustion[] {
  const levels = samples.findLast((sample) => sample.memory !== null)?.memory;
  if (!hello || !levels) return [];
  const heapLimitMb = levels.heapLimit / 1e6 - SEMI_SPACES * hello.semiSpaceMb;
  // Garbage that has not been collected yet does not count.
  const heapUsedMb = (levels.heapAfterOld ?? 0) / 1e6;
  if (heapUsedMb < MIN_FULL_SHARE * heapLimitMb) return [];
  return [
    {
      pid: hello.pid,
      heapUsedMb,
      heapLimitMb,
      requests: samples.at(-1)?.counters.ended ?? 0,
    },
  ];
}
