import type { Interval } from '../../../statistics/types.js';
import type { Findings } from '../../findings.js';
import type { Hypothesis } from '../../hypotheses/hypothesis.js';
import { predictLowerLevel } from './compression-level.js';
import { findHotFunction, isHotFunctionRemedy, predictWithoutFunction } from './hot-function.js';
import {
  isPartialRemedy,
  predictFromExperiment,
  predictFromUselessRemedy,
} from './remedy-experiment.js';

/** What a prediction may come from; `null` if it does not apply. Responses per second at the level of the first block. */
type Source = (chosen: Hypothesis, found: Findings) => Interval | null;

/** All sources, the closest to a measurement of the remedy first: the first that applies counts. */
const SOURCES: Source[] = [
  predictFromProfile,
  predictLowerLevel,
  predictFromPartialRemedy,
  ({ limit }, found) => predictFromExperiment(limit, found),
  ({ limit }, found) => predictFromUselessRemedy(limit, found),
  // The limit's own arithmetic, in its file.
  ({ remedy }) => remedy.predictedThroughput,
];

/** Predicts throughput after the remedy, uncorrected; `null` if nothing predicts it. */
export function predictFromSources(chosen: Hypothesis, found: Findings): Interval | null {
  for (const predict of SOURCES) {
    const range = predict(chosen, found);
    if (range) return range;
  }
  return null;
}

/** Predicts throughput without the most expensive function, where that is the remedy. */
function predictFromProfile(chosen: Hypothesis, found: Findings): Interval | null {
  if (!isHotFunctionRemedy(chosen, found)) return null;
  const hot = findHotFunction(chosen, found);
  return hot && predictWithoutFunction(hot, found);
}

/** Predicts at least what a part of the remedy yielded, and at least what the arithmetic says of all of it. */
function predictFromPartialRemedy({ limit, remedy }: Hypothesis, found: Findings): Interval | null {
  const { predictedThroughput: whole } = remedy;
  const part = isPartialRemedy(limit) ? predictFromExperiment(limit, found) : null;
  if (!part || !whole) return null;
  return { low: Math.max(part.low, whole.low), high: Math.max(part.high, whole.high) };
}
