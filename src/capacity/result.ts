import type { CapacityPoint } from '../explain/result.js';
import type { PlanSummary, Warning } from '../load/result.js';
import type { CurveName } from './model/curves.js';
import type { Estimate } from './model/fit.js';

/** Throughput and response times at one number of connections, all blocks together. */
export interface CapacityLevel extends CapacityPoint {
  /** Responses per second of each block; `throughput` is their geometric mean with its 95 % interval. */
  blocks: number[];
  /** Share of the requests that failed or were answered with an error. */
  errorShare: number;
  /** Whether the generator was the limit in every block; else those in which it was are left out. */
  clientBound: boolean;
  /** CPU of the server in cores; `null` if its process is not known. */
  serverCpu: number | null;
}

/** The curve through the levels; rates per second. Intervals are of 95 %, up to Infinity (`null` in JSON) where the levels tell nothing. */
export interface CapacityCurve {
  curve: CurveName;
  /** Mean response time with a single request in flight. */
  singleMs: Estimate;
  /** On the plateau or at the peak, and the connections it takes: X_max R0. `null` if the levels do not reach it. */
  maxThroughput: Estimate | null;
  knee: Estimate | null;
  /** Connections beyond which throughput falls; `null` unless measured. */
  peak: Estimate | null;
  /** Standard deviation of a block around the curve, as a share. */
  scatter: number;
  /** What a block gives, at the levels and between them, up to twice the largest. */
  points: { connections: number; throughput: Estimate }[];
}

/** Why no more was tried. */
export type SweepEnd =
  | 'past-knee'
  | 'connections'
  | 'budget'
  | 'errors'
  | 'client-bound'
  | 'interrupted'
  | 'server-ended';

/** Throughput over connections, in the closed model. */
export interface Sweep {
  /** By number of connections. */
  levels: CapacityLevel[];
  /** The level of the highest throughput. */
  best: CapacityLevel | null;
  /** `null` with fewer than two levels. */
  model: CapacityCurve | null;
  ended: SweepEnd;
}

/** One block at a rate. */
export interface RateTrial {
  rate: number;
  durationMs: number;
  throughput: number;
  /** From when a request was due. */
  latencyMs: CapacityPoint['latencyMs'];
  /** Samples of it. */
  samples: number;
  /** What the conditions are about, in their order: milliseconds, a number, or a share; `null` without a sample. */
  measured: (number | null)[];
  held: boolean;
  /** Why not, in words; empty if it held. */
  failures: string[];
  /** The generator was the limit: that it held stands, that it failed says nothing about the server. */
  clientBound: boolean;
}

/** Why no more was tried. */
export type SearchEnd =
  | 'found'
  | 'budget'
  | 'never-holds'
  | 'client-bound'
  | 'interrupted'
  | 'server-ended';

/** The highest rate that holds the objective, in the open model. */
export interface Search {
  objective: string[];
  /**
   * Where half of the blocks hold, with its 95 % interval; `null` if none did. `high` is Infinity (`null` in JSON), and
   * `value` as `low`, where no rate failed, only such at which the generator was the limit, or the interval reaches beyond the
   * rates tried.
   */
  rate: Estimate | null;
  /** In the order in which they ran. */
  trials: RateTrial[];
  /** A longer block at the interval's lower end; `null` if there was no time for it. */
  confirmed: RateTrial | null;
  /** One request after the other on one connection: the best that the server can do. */
  single: { meanMs: number | null; samples: number };
  ended: SearchEnd;
  /** Why there is no rate, in words; empty if there is one. */
  reason: string;
}

/** What `capacity()` gives; JSON of schemaVersion 1. Times are in milliseconds, throughput in responses per second. */
export interface CapacityResult {
  schemaVersion: 1;
  tool: { name: 'millrace'; version: string };
  startedAt: string;
  durationMs: number;
  budgetMs: number;
  /** Ended early by the caller. */
  interrupted: boolean;
  /** The settings of its first block. */
  plan: PlanSummary;
  /** Without an objective; else `null`. */
  sweep: Sweep | null;
  /** With an objective; else `null`. */
  search: Search | null;
  warnings: Warning[];
}

/** The state of a run in progress. */
export interface CapacityProgress {
  /** What is measured now, in words. */
  step: string;
  elapsedMs: number;
  budgetMs: number;
}
