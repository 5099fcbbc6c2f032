import type { ExperimentName } from '../experiment-names.js';
import type { Detector } from '../hypotheses/hypothesis.js';
import type { LimitId } from '../limit-ids.js';

/** Groups of limits, in the order of the catalogue. */
export const LIMIT_GROUPS = [
  'load',
  'CPU',
  'waiting inside',
  'connections and TCP',
  'machine',
] as const;

export type LimitGroup = (typeof LIMIT_GROUPS)[number];

/**
 * How explain detects a limit. `by experiment`: the limit predicts the result of a specific change, and explain makes
 * that change. `by its signature`: the measurements fit the limit, and no experiment isolates it.
 */
export type Detection = 'by experiment' | 'by its signature' | 'not detected yet';

/** A limit in plain words, as the catalogue has it. */
export interface LimitText {
  title: string;
  /** Explains the limit in one or two sentences. */
  what: string;
  /** Names the measurements by which explain recognizes it. */
  shows: string;
  /** Names the experiments, in quotes, and their results. */
  experiment: string;
  formula: string;
  remedy: string;
  /** A change of the user's that would confirm the limit where no experiment did, and what it would show. */
  confirm?: string;
  detected: Detection;
  /** A condition or exception, or the reason why it is not detected. */
  note?: string;
}

/** An experiment that applies the remedy of a limit for a while: its result is the best prediction. */
export interface RemedyExperiment {
  experiment: ExperimentName;
  /** Set if it applies a part of the remedy, which yields at least as much. */
  isPartial?: true;
  /** Set if it has the same effect in another way, which may cost less. */
  isSubstitute?: true;
}

/** All that explain knows of a limit, in a file named by its id. Traits that are not set do not apply. */
export interface Limit {
  id: LimitId;
  group: LimitGroup;
  text: LimitText;
  /** Some have two detectors, one for inbound and one for outbound connections: the stronger result counts. */
  detectors: Detector[];
  /** Why it cannot be told from the service's own traffic: only a load of our own shows it. */
  needsOwnLoad?: string;
  /** Of several, the one that gained most counts. */
  remedyExperiments?: RemedyExperiment[];
  /** Its remedy was tried as a whole by its experiment, so that it yields no more than it did then. */
  isWhollyTried?: true;
  /** Its remedy is more processes or cores: the throughput of one idle server does not bound it. */
  addsCapacity?: true;
  /** Its remedy is less loop time per request: the time that requests wait for something else stays. */
  savesLoopTime?: true;
  /** It precedes all others: throughput is not comparable until it is fixed. */
  isSevere?: true;
  /** It matters even if the service sustains the rate. */
  mattersAtSustainedRate?: true;
  /** Samples of what requests wait for locate it, so that few responses are enough. */
  needsFewResponses?: true;
  /** A single function may cause it, which a profile finds: under the load, without it, or with one request at a time. */
  causingFunction?: 'most expensive under load' | 'most expensive at rest' | 'longest task';
  /** Objects in memory cause it: what allocates them is looked for, and what retains them if they stay. */
  causedByObjects?: 'collected' | 'kept';
  /** Experiments that distinguish the cost of its connections from that of requests, and the words for that cost. */
  connectionCost?: { experiments: ExperimentName[]; words: string };
}
