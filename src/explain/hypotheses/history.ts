import type { MeasuredRatio } from '../../statistics/types.js';
import type { HeapExhaustion } from '../observe/probe/heap-exhaustion.js';

/** Observations over several blocks. */
export interface History {
  retained: Retained | null;
  /** Processes that ended because their heap was full. */
  exhausted: HeapExhaustion[];
  costOverTime: CostOverTime[];
  /** Throughput with a second process; `null` if it was not tried. */
  secondProcess: SecondProcess | null;
  /** Cost per request after a restart; `null` if it was not tried. */
  afterRestart: CostOverTime | null;
}

/** Heap after a full collection, before and after some requests. */
export interface Retained {
  requests: number;
  beforeBytes: number;
  afterBytes: number;
}

/** Cost of a response in one block of the same load. */
export interface CostOverTime {
  /** Requests that the server had answered by then since its start. */
  requests: number;
  /** CPU time per response in ms. */
  cpuMs: number;
}

/** Throughput with a second process as a ratio to that without, and the lower end of its interval. */
export type SecondProcess = Pick<MeasuredRatio, 'ratio' | 'low'>;
