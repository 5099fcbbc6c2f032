import type { Interval } from '../../../statistics/types.js';
import type { ExperimentName } from '../../experiment-names.js';
import type { Findings } from '../../findings.js';
import { scale, widen } from '../../hypotheses/hypothesis.js';
import type { LimitId } from '../../limit-ids.js';
import type { RemedyExperiment } from '../../limits/limit.js';
import { LIMITS } from '../../limits/limits.js';
import type { ExperimentResult } from '../../result.js';
import { hasSlowLevel } from './compression-level.js';
import { limitInterval } from './prediction-range.js';

/** Minimum gain of an experiment that helped. */
const MIN_TRIED_GAIN = 1.1;

/** Finds the experiment of a limit's remedy that was made; of several, the one that gained most. */
function findRemedyExperiment(
  limit: LimitId,
  { experiments, metrics }: Findings,
): RemedyExperiment | undefined {
  // A flush in memory takes no time; that of the remedy still takes the disk's, though once for many requests.
  if (limit === 'synchronous-writes' && (metrics.base.inside?.files.flushes ?? 0) > 0) {
    return undefined;
  }
  if (hasSlowLevel(limit, metrics)) return undefined;
  const readGain = ({ experiment }: RemedyExperiment) =>
    experiments.find(({ name }) => name === experiment)?.measured.ratio ?? null;
  const made = (LIMITS[limit].remedyExperiments ?? []).filter((trial) => readGain(trial) !== null);
  return made.sort((a, b) => (readGain(b) ?? 0) - (readGain(a) ?? 0))[0];
}

/** Whether the experiment applies only a part of the remedy. */
export function isPartialRemedy(limit: LimitId): boolean {
  return (LIMITS[limit].remedyExperiments ?? []).some(({ isPartial }) => isPartial);
}

/** Finds the experiment that applied the remedy, if it helped. */
export function findTriedRemedy(limit: LimitId, found: Findings): ExperimentResult | null {
  const name = findRemedyExperiment(limit, found)?.experiment;
  const tried = found.experiments.find((it) => it.name === name);
  return tried && tried.measured.ratio >= MIN_TRIED_GAIN ? tried : null;
}

/** Predicts throughput from the experiment that applied the remedy, narrowed by its prediction where the two agree. */
export function predictFromExperiment(limit: LimitId, found: Findings): Interval | null {
  const tried = findTriedRemedy(limit, found);
  if (!tried) return null;
  const { measured } = tried;
  const { ratio } = measured;
  // Few differing pairs make the interval reach far up: the range stays symmetric around the measured ratio.
  const range = limitInterval(ratio, Math.min(ratio - measured.low, measured.high - ratio));
  const predicted = tried.predicted[limit] ?? range;
  const agrees = predicted.low <= ratio && ratio <= predicted.high;
  // The code of a process that has just started is not compiled yet: it yields more later.
  const high = tried.name === 'second-process' ? Math.max(range.high, measured.high) : range.high;
  const agreed = agrees
    ? { low: Math.max(range.low, predicted.low), high: Math.min(high, predicted.high) }
    : range;
  return scale(agreed, found.metrics.throughput);
}

/**
 * Predicts throughput where the experiment that applied the whole remedy yielded nothing: it is not what limits
 * throughput, though it may be what makes the slowest responses slow.
 */
export function predictFromUselessRemedy(
  limit: LimitId,
  { experiments, metrics }: Findings,
): Interval | null {
  if (!LIMITS[limit].isWhollyTried) return null;
  const trials = (LIMITS[limit].remedyExperiments ?? []).map(({ experiment }) => experiment);
  const tried = experiments.find(({ name }) => trials.some((one) => one === name));
  if (!tried || tried.measured.ratio >= MIN_TRIED_GAIN) return null;
  const { ratio } = tried.measured;
  return scale({ low: Math.min(1, ratio), high: Math.max(1, ratio) }, metrics.throughput);
}

/** Minimum gain, or width, at which a prediction is compared with a server that does nothing. */
export const MIN_LARGE_GAIN = 2;

/** Finds the experiment that applied the remedy, if it gained enough to be repeated for longer. */
export function findRemedyToRepeat(found: Findings): ExperimentName | null {
  const { chosen } = found.finding;
  if (!chosen) return null;
  const tried = findTriedRemedy(chosen.limit, found);
  if (tried?.metric !== 'throughput' || tried.measured.ratio < MIN_LARGE_GAIN) return null;
  const trial = findRemedyExperiment(chosen.limit, found);
  return trial && !trial.isSubstitute ? trial.experiment : null;
}

/** Minimum and maximum relative difference that is assumed between two runs of a server. */
const [MIN_RUN_NOISE, MAX_RUN_NOISE] = [0.08, 0.2];

/** Reads the result of the repeated remedy; if it was less than in the short blocks, the range covers both. */
export function readRepeatedRemedy(limit: LimitId, found: Findings): Interval | null {
  const { repeatedRemedy, noise } = found;
  const pairs = predictFromExperiment(limit, found);
  if (!repeatedRemedy || !pairs) return null;
  const { low, high } = widen(
    repeatedRemedy.throughput,
    Math.min(MAX_RUN_NOISE, Math.max(MIN_RUN_NOISE, noise)),
  );
  return { low, high: repeatedRemedy.throughput < pairs.low ? Math.max(high, pairs.high) : high };
}
