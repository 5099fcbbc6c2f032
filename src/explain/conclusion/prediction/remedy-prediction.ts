import type { Interval } from '../../../statistics/types.js';
import type { Findings } from '../../findings.js';
import { SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import type { Hypothesis } from '../../hypotheses/hypothesis.js';
import {
  addsLoops,
  capByReference,
  correct,
  LOAD_CORRECTIONS,
  OWN_CORRECTIONS,
  SERVER_CORRECTIONS,
} from './corrections.js';
import { isHotFunctionRemedy } from './hot-function.js';
import { computeMaxDemand } from './load-bound.js';
import { coverVariation } from './prediction-range.js';
import { isPartialRemedy, MIN_LARGE_GAIN, readRepeatedRemedy } from './remedy-experiment.js';
import { predictFromSources } from './sources.js';

/** Predicts throughput after the remedy: from the closest source (`sources.ts`), corrected (`corrections.ts`). */
export function predictRemediedThroughput(chosen: Hypothesis, found: Findings): Interval | null {
  const range = predictForServer(chosen, found);
  return range && correct(range, LOAD_CORRECTIONS, chosen, found);
}

/** Predicts throughput after the remedy for a load without a bound. */
function predictForServer(chosen: Hypothesis, found: Findings): Interval | null {
  const repeated = readRepeatedRemedy(chosen.limit, found);
  // Measured for longer and without the probe, it needs no correction.
  if (repeated && !isPartialRemedy(chosen.limit)) return repeated;
  const range = predictFromSources(chosen, found);
  return range && correct(range, SERVER_CORRECTIONS, chosen, found);
}

/** Completes the prediction of another change, which a detector computed for the throughput of the first block. */
export function predictAlternative(range: Interval, chosen: Hypothesis, found: Findings): Interval {
  return coverVariation(
    correct(range, [...OWN_CORRECTIONS, capByReference], chosen, found),
    found.noise,
  );
}

/** Whether the server could serve more after the remedy than the load asks for. */
export function isLimitedByLoad(chosen: Hypothesis, found: Findings): boolean {
  const range = predictForServer(chosen, found);
  const maxDemand = computeMaxDemand(chosen, found);
  return range !== null && maxDemand !== null && (range.low + range.high) / 2 >= maxDemand;
}

/** Predicts throughput with more processes where less work is the remedy; `null` without idle cores for them. */
export function predictMoreProcesses(chosen: Hypothesis, found: Findings): Interval | null {
  if (!isHotFunctionRemedy(chosen, found)) return null;
  // One idle server does not bound what several serve.
  const alone = { ...found, hotFunctions: [], dominantCall: null, referenceThroughput: null };
  return predictRemediedThroughput(chosen, alone);
}

/** Whether the prediction is large or wide enough to be compared with a server that does nothing. */
export function exceedsReference(chosen: Hypothesis, found: Findings): boolean {
  const predicted = predictFromSources(chosen, found);
  const range = predicted && correct(predicted, OWN_CORRECTIONS, chosen, found);
  const { metrics } = found;
  if (!range || addsLoops(chosen, found) || metrics.model === 'open') return false;
  if (found.repeatedRemedy !== null && !isPartialRemedy(chosen.limit)) return false;
  if (!metrics.loop || metrics.loop.busy < SATURATED) return false;
  const others = (chosen.remedy.alternatives ?? []).map((other) => other.predictedThroughput.high);
  const high = Math.max(range.high, ...others);
  return high > MIN_LARGE_GAIN * metrics.throughput || high > MIN_LARGE_GAIN * range.low;
}
