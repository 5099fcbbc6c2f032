import type { CapacityPoint } from '../explain/result.js';
import type { LoadWarning, PlanSummary } from '../load/result.js';
import type { CapacityEstimate } from './model/fit.js';
import type { CapacityModel } from './model/model.js';

/** Throughput and response times at one number of connections, over all its blocks. */
export interface CapacityLevel extends CapacityPoint {
  /** Responses per second of each block; `throughput` is their geometric mean with its 95 % interval. */
  blocks: number[];
  /** Share of the requests that failed or had an error status. */
  errorShare: number;
  /** Whether the generator was the limit in every block. Otherwise the blocks in which it was are left out. */
  clientBound: boolean;
  /** CPU of the server in cores; `null` if its process is unknown. */
  serverCpu: number | null;
}

/**
 * The curve through the levels; rates per second. Intervals are 95 % intervals; an upper end that the levels do not
 * determine is Infinity (`null` in JSON).
 */
export interface CapacityCurve extends Omit<CapacityModel, 'reach' | 'predict'> {
  /** Predicted throughput of a block, at the levels and between them, up to twice the largest. */
  points: { connections: number; throughput: CapacityEstimate }[];
}

/** Reason why no further level was tried. */
export type CapacitySweepEnd =
  | 'past-knee'
  | 'connections'
  | 'budget'
  | 'errors'
  | 'client-bound'
  | 'interrupted'
  | 'server-ended';

/** Throughput over connections in the closed model. */
export interface CapacitySweep {
  /** The rates are those of iterations, and connections are users. Absent without scenarios. */
  counted?: 'iterations';
  /** In ascending order of connections. */
  levels: CapacityLevel[];
  /** The level with the highest throughput. */
  best: CapacityLevel | null;
  /** `null` with fewer than two levels. */
  model: CapacityCurve | null;
  ended: CapacitySweepEnd;
}

/** One block at a rate. */
export interface CapacityTrial {
  rate: number;
  durationMs: number;
  throughput: number;
  /** From the moment a request was due. */
  latencyMs: CapacityPoint['latencyMs'];
  /** Number of latency samples. */
  samples: number;
  /** Measured value of each condition, in their order: milliseconds, a number, or a share; `null` without a sample. */
  measured: (number | null)[];
  held: boolean;
  /** Reasons why the objective did not hold; empty if it held. */
  failures: string[];
  /** Whether the generator was the limit. A block that held still counts; one that failed says nothing about the server. */
  clientBound: boolean;
}

/** Reason why no further rate was tried. */
export type CapacitySearchEnd =
  | 'found'
  | 'budget'
  | 'never-holds'
  | 'client-bound'
  | 'interrupted'
  | 'server-ended';

/** The highest rate at which the objective holds, in the open model. */
export interface CapacitySearch {
  /** The rates are those of iterations. Absent without scenarios. */
  counted?: 'iterations';
  objective: string[];
  /**
   * Rate at which half of the blocks hold, with its 95 % interval; `null` if no block held. `high` is Infinity (`null` in
   * JSON) and `value` equals `low` if no rate failed, if only rates failed at which the generator was the limit, or if the
   * interval reaches beyond the rates tried.
   */
  rate: CapacityEstimate | null;
  /** In the order in which they ran. */
  trials: CapacityTrial[];
  /** A longer block at the lower end of the interval; `null` if there was no time for it. */
  confirmed: CapacityTrial | null;
  /** Latency of one request after the other on one connection: the minimum that the server can reach. */
  single: { meanMs: number | null; samples: number };
  ended: CapacitySearchEnd;
  /** Reason why there is no rate; empty if there is one. */
  reason: string;
}

/** The result of `capacity()`; JSON of schemaVersion 2. Times are in milliseconds, throughput in responses per second. */
export interface CapacityResult {
  schemaVersion: 2;
  tool: { name: 'millrace'; version: string };
  startedAt: string;
  durationMs: number;
  budgetMs: number;
  /** Whether the caller ended the run early. */
  interrupted: boolean;
  /** The settings of the first block. */
  plan: PlanSummary;
  /** Present without an objective; otherwise `null`. */
  sweep: CapacitySweep | null;
  /** Present with an objective; otherwise `null`. */
  search: CapacitySearch | null;
  warnings: LoadWarning[];
}

/** The state of a run in progress. */
export interface CapacityProgress {
  /** The current measurement, in words. */
  step: string;
  elapsedMs: number;
  budgetMs: number;
}
