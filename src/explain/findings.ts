import type { MeasuredRatio } from '../statistics/types.js';
import type { ExperimentName } from './experiment-names.js';
import type { Evaluation, Hypothesis, RuledOut } from './hypotheses/hypothesis.js';
import type { Metrics } from './metrics/types.js';
import type { ProcessCpu } from './profile/capture.js';
import type {
  Allocations,
  CapacityPoint,
  ExperimentResult,
  ExplainStatus,
  HotFunction,
} from './result.js';
import type { ObservedWaits } from './waits/waits-graph.js';

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
  /** Where CPU time, waits and memory go, as far as each was observed. */
  cpu: ProcessCpu | null;
  waits: ObservedWaits | null;
  allocations: Allocations | null;
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

/** The verdict before it is put into words. */
export interface Finding {
  status: ExplainStatus;
  /** The limit; `null` if nothing limits the load, or the limit is unknown. */
  chosen: Hypothesis | null;
  /** Further hypotheses that nothing contradicts. */
  also: Hypothesis[];
  /** Those of `also` that explain the experiments as well as the chosen one. */
  rivals: Hypothesis[];
  /** Limits that an experiment contradicts. */
  excluded: RuledOut[];
  /** The variation of the unchanged load, where it hides the effects of the experiments. */
  hiddenBy: Variation | null;
}

/** Throughput of the blocks with the unchanged load, in responses per second. */
export interface Variation {
  lowest: number;
  highest: number;
}

/** The experiment that is the remedy, repeated for longer and without the probe. Throughput in responses per second. */
export interface RepeatedRemedy {
  experiment: ExperimentName;
  throughput: number;
}
