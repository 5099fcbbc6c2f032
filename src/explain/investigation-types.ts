import type { MeasuredRatio } from '../statistics/types.js';
import type { Finding } from './conclusion/verdict.js';
import type { ExperimentName, ExperimentSetting } from './experiments/types.js';
import type { Evaluation } from './hypotheses/evaluate.js';
import type { Metrics } from './metrics/types.js';
import type { CapacityPoint, ExperimentResult, HotFunction } from './result.js';
import type { RequestSample } from './target/sample-request.js';

export interface InvestigationOptions {
  /** What is possible with the server; asked when it has served some requests. */
  setting: () => ExperimentSetting;
  requestSample: RequestSample;
  /** When to be done, on the clock of `performance.now()`. */
  untilMs: number;
  /** How long the load runs at least before it is measured. */
  warmupMs: number;
  /** Ends it early. */
  signal: AbortSignal;
  /** Told what is being done. */
  onStep(what: string): void;
}

/** All that was found out. */
export interface Findings extends Evaluation {
  metrics: Metrics;
  finding: Finding;
  experiments: ExperimentResult[];
  noise: number;
  probeCost: MeasuredRatio | null;
  hotFunctions: HotFunction[];
  /** The function that brings the limit about, if one does. */
  rootCauseFunction: HotFunction | null;
  capacityCurve: CapacityPoint[];
  /** Responses per second of a server that does nothing, under this load; `null`: not measured, or not yet. */
  referenceThroughput: number | null;
  repeatedRemedy: RepeatedRemedy | null;
  /** Responses per second with the load as asked for, the median of all its blocks. */
  baselineThroughput: number;
  /** Experiments that would have told more, and why they were not made. */
  skippedExperiments: string[];
  /** Whether the caller ended it early. */
  interrupted: boolean;
}

/** The experiment that was the remedy, once more for longer and without the probe: responses per second. */
export interface RepeatedRemedy {
  experiment: ExperimentName;
  throughput: number;
}
