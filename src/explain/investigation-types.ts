import type { MeasuredRatio } from '../statistics/types.js';
import type { Finding } from './conclusion/verdict.js';
import type { ExperimentName } from './experiment-names.js';
import type { ExperimentSetting } from './experiments/types.js';
import type { Evaluation } from './hypotheses/evaluate.js';
import type { Metrics } from './metrics/types.js';
import type { CapacityPoint, ExperimentResult, HotFunction } from './result.js';
import type { RequestSample } from './target/sample-request.js';

export interface InvestigationOptions {
  /** Returns what is possible with the server. Called after the server has answered requests. */
  setting: () => ExperimentSetting;
  requestSample: RequestSample;
  /** Deadline, on the clock of `performance.now()`. */
  untilMs: number;
  /** Minimum warm-up before the load is measured. */
  warmupMs: number;
  /** Ends the investigation early. */
  signal: AbortSignal;
  /** Receives each step as it begins. */
  onStep(what: string): void;
}

/** All that the investigation found. */
export interface Findings extends Evaluation {
  metrics: Metrics;
  finding: Finding;
  experiments: ExperimentResult[];
  noise: number;
  probeCost: MeasuredRatio | null;
  hotFunctions: HotFunction[];
  /** The most expensive call of the application, callees included; `null` if unknown. */
  dominantCall: HotFunction | null;
  /** The function that causes the limit, if there is one. */
  rootCauseFunction: HotFunction | null;
  capacityCurve: CapacityPoint[];
  /** Responses per second of a server that does nothing, under the same load; `null` if not measured. */
  referenceThroughput: number | null;
  repeatedRemedy: RepeatedRemedy | null;
  /** Responses per second under the configured load: the median of all its blocks. */
  baselineThroughput: number;
  /** Informative experiments that were skipped, each with the reason. */
  skippedExperiments: string[];
  /** Whether the caller ended the investigation early. */
  interrupted: boolean;
}

/** The experiment that is the remedy, repeated for longer and without the probe. Throughput in responses per second. */
export interface RepeatedRemedy {
  experiment: ExperimentName;
  throughput: number;
}
