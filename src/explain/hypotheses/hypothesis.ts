import type { Range } from '../../statistics/types.js';
import type { ExperimentName } from '../experiments/types.js';
import type { LimitId } from '../limits/ids.js';
import type { Metrics } from '../metrics/types.js';
import type { Evidence, Remedy } from '../result.js';

/** A limit whose signature is there. */
export interface Hypothesis {
  limit: LimitId;
  /** How much of the signature is there, 0 to 1. */
  weight: number;
  /** The wider limit of which this is the cause, if there is one: they are no rivals. */
  causeOf?: LimitId;
  /** Part of the busy loop's time that was seen to go to it, where that is seen directly. */
  loopShare?: number;
  sentence: string;
  arithmetic: string[];
  evidence: Evidence[];
  /** The ratio that each experiment would give. */
  predictions: Partial<Record<ExperimentName, Range>>;
  /** What it says of experiments that are not named: that they change nothing, or nothing. */
  unlisted: 'unchanged' | 'unknown';
  remedy: Remedy;
}

/** A limit that a number speaks against. */
export interface RuledOut {
  limit: LimitId;
  why: string;
}

/** Looks at the facts for one limit. `null`: what it needs was not seen. */
export type Detector = (metrics: Metrics) => Hypothesis | RuledOut | null;

export function isHypothesis(found: Hypothesis | RuledOut): found is Hypothesis {
  return 'weight' in found;
}

export const UNCHANGED: Range = { low: 1, high: 1 };

/** A range around a ratio, `share` to either side. */
export function widen(ratio: number, tolerance = 0.08): Range {
  return { low: ratio * (1 - tolerance), high: ratio * (1 + tolerance) };
}

/** Throughput of a busy loop after `share` of its time is freed, from `least` of it to all of it. */
export function computeGain(share: number, minFreed = 0.5, maxFreed = 1.3): Range {
  const gain = (part: number) => 1 / (1 - Math.min(0.98, share * part));
  return { low: gain(minFreed), high: gain(maxFreed) };
}

export function scale(range: Range, factor: number): Range {
  return { low: range.low * factor, high: range.high * factor };
}
