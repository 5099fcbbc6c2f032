import type { Interval } from '../../../statistics/types.js';
import type { Findings } from '../../findings.js';
import {
  computeDominantGain,
  type Hypothesis,
  MIN_DOMINANT_SHARE,
  scale,
  widen,
} from '../../hypotheses/hypothesis.js';
import { findTopOutsideNode } from '../../profile/analyze.js';
import type { HotFunction } from '../../result.js';
import { findTriedRemedy } from './remedy-experiment.js';

/** Minimum ratio of a call's time to that of the most expensive function at which the call says more. */
const MIN_CALL_RATIO = 1.5;

/**
 * Finds what takes most of a busy loop's time: a function outside Node.js itself, or a call of the application where
 * the time is that of many functions below it.
 */
export function findHotFunction(
  { limit, causeOf }: Hypothesis,
  { hotFunctions, dominantCall }: Findings,
): HotFunction | null {
  if (limit !== 'event-loop-cpu' && causeOf !== 'event-loop-cpu') return null;
  const top = findTopOutsideNode(hotFunctions);
  const isCall = dominantCall && dominantCall.share >= MIN_CALL_RATIO * (top?.share ?? 0);
  const hot = isCall ? dominantCall : top;
  return hot && hot.share >= 0.1 ? hot : null;
}

/**
 * Whether the remedy is the same loop without its most expensive function: unless a second process yielded more, or is
 * expected to where it was not tried.
 */
export function isHotFunctionRemedy(chosen: Hypothesis, found: Findings): boolean {
  const hot = chosen.limit === 'event-loop-cpu' ? findHotFunction(chosen, found) : null;
  if (!hot) return false;
  const tried = findTriedRemedy(chosen.limit, found)?.measured.ratio;
  const expected = (chosen.remedy.predictedThroughput?.low ?? 0) / found.metrics.throughput;
  return computeWithoutFunction(hot, 1) >= (tried ?? expected);
}

/** Computes the throughput of a busy loop without a function. */
export function computeWithoutFunction({ share }: HotFunction, throughput: number): number {
  return throughput / (1 - Math.min(0.95, share));
}

/** Predicts throughput without a function, or without a call and all that it calls, which makes garbage too. */
export function predictWithoutFunction(hot: HotFunction, { metrics }: Findings): Interval {
  const { throughput, loopTime } = metrics;
  if (hot.share < MIN_DOMINANT_SHARE) return widen(computeWithoutFunction(hot, throughput), 0.15);
  const gc = loopTime?.gc ?? 0;
  const garbage = (gc * hot.share) / Math.max(0.05, 1 - gc);
  return scale(computeDominantGain(hot.share, garbage), throughput);
}
