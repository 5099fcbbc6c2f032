import type { ProbedProcess } from './process.js';

/** A process that has ended with its heap full. */
export interface HeapExhaustion {
  pid: number;
  heapUsedMb: number;
  heapLimitMb: number;
  /** Requests that it had answered. */
  requests: number;
}

/** Part of its limit from which on a heap is full, as it is looked at twice a second. */
const MIN_FULL_SHARE = 0.75;
/** V8 counts the young generation into the limit: three of its halves. */
const SEMI_SPACES = 3;

/** A process that has gone, if its heap was full when it was last looked at. */
export function findHeapExhaustion({ hello, samples }: ProbedProcess): HeapExhaustion[] {
  const levels = samples.findLast((sample) => sample.memory !== null)?.memory;
  if (!hello || !levels) return [];
  const heapLimitMb = levels.heapLimit / 1e6 - SEMI_SPACES * hello.semiSpaceMb;
  // Garbage that is still to be collected fills no heap.
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
