import type { Interval } from '../../statistics/types.js';
import type { ExperimentName } from '../experiment-names.js';
import type { LimitId } from '../limit-ids.js';
import type { Metrics } from '../metrics/types.js';
import type { ExplainEvidence, Remedy } from '../result.js';
import type { History } from './history.js';

/** Upper bound of a gain that is unknown: the next limit is, too; only a server that does nothing bounds it. */
export const UNBOUNDED_GAIN = 1000; // Source: stands for infinity

/** The prediction of a hypothesis that predicts nothing of an experiment: any ratio fits. */
export const ANY_RATIO: Interval = { low: 1 / UNBOUNDED_GAIN, high: UNBOUNDED_GAIN };

/** A limit whose signature was observed. */
export interface Hypothesis {
  limit: LimitId;
  /** Strength of the signature, 0 to 1. */
  weight: number;
  /** The broader limit that this one causes, if there is one. The two do not exclude each other. */
  causeOf?: LimitId;
  /** Share of the busy loop's time that this limit takes, where it is measured directly. */
  loopShare?: number;
  sentence: string;
  arithmetic: string[];
  evidence: ExplainEvidence[];
  /** Predicted ratio per experiment. */
  predictions: Partial<Record<ExperimentName, Interval>>;
  /** Whether experiments that `predictions` does not list are predicted to change nothing. Without it nothing is predicted. */
  unlisted?: 'unchanged';
  /** Whether the place where requests queue was measured, not inferred from how throughput responds to changes. */
  isLocated?: boolean;
  remedy: Remedy;
}

/** A limit that a measurement rules out. */
export interface RuledOut {
  limit: LimitId;
  why: string;
}

/** Evaluation of the metrics for every limit. */
export interface Evaluation {
  /** Strongest first. */
  hypotheses: Hypothesis[];
  ruledOut: RuledOut[];
}

/** What a detector found; `null` if the measurements that it needs are missing. */
export type Detected = Hypothesis | RuledOut | null;

/** Evaluates the metrics, and observations over several blocks, for one limit. */
export type Detector = (metrics: Metrics, history: History) => Detected;

export function isHypothesis(found: Hypothesis | RuledOut): found is Hypothesis {
  return 'weight' in found;
}

export const UNCHANGED: Interval = { low: 1, high: 1 }; // Source: definition

/** Returns the range of a ratio plus and minus a share of it. */
export function widen(ratio: number, tolerance = 0.08): Interval {
  return { low: ratio * (1 - tolerance), high: ratio * (1 + tolerance) };
}

/**
 * Computes the gain in throughput of a busy loop when a share of its time is freed.
 *
 * @param minFreed,maxFreed part of the share that is freed at least and at most
 */
export function computeGain(share: number, minFreed = 0.5, maxFreed = 1.3): Interval {
  const gain = (part: number) => 1 / (1 - Math.min(0.98, share * part));
  return { low: gain(minFreed), high: gain(maxFreed) };
}

/**
 * Minimum part of the rest of a request's time that remains without the work that takes most of it: measured 0.3 to 1. A
 * profile counts more time of what it interrupts, and caches and compiled code then serve the rest.
 */
const MIN_REMAINING_PART = 0.4; // Source: measured: 0.3 to 1, with the services of bench incidents

/** Error of a share of the time, which matters where little else is left. */
const MAX_SHARE_ERROR = 0.02;

/** Minimum rest of the time: below it only what a server can serve that does nothing bounds a prediction. */
const MIN_REST = 0.001;

/** Minimum share of the loop's time from which on work is most of it. */
export const MIN_DOMINANT_SHARE = 0.5;

/**
 * Computes the gain in throughput of a busy loop without the work that takes most of its time.
 *
 * @param share share of the time that a profile attributes to the work, `MIN_DOMINANT_SHARE` or more
 * @param garbage further share for the garbage of that work
 */
export function computeDominantGain(share: number, garbage = 0): Interval {
  const rest = MIN_REMAINING_PART * (1 - share - garbage) - MAX_SHARE_ERROR;
  return { low: 1 / (1 - Math.min(0.97, share)), high: 1 / Math.max(MIN_REST, rest) };
}

export function scale(range: Interval, factor: number): Interval {
  return { low: range.low * factor, high: range.high * factor };
}
