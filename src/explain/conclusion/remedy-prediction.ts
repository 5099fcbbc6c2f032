import type { Interval } from '../../statistics/types.js';
import type { ExperimentName } from '../experiment-names.js';
import type { Findings } from '../findings.js';
import { SATURATED } from '../hypotheses/event-loop/loop-capacity.js';
import {
  computeDominantGain,
  type Hypothesis,
  MIN_DOMINANT_SHARE,
  scale,
  widen,
} from '../hypotheses/hypothesis.js';
import type { LimitId } from '../limit-ids.js';
import type { RemedyExperiment } from '../limits/limit.js';
import { LIMITS } from '../limits/limits.js';
import { findWorkingProcesses } from '../metrics/derive.js';
import { findTopOutsideNode } from '../profile/analyze.js';
import type { ExperimentResult, HotFunction } from '../result.js';
import { hasSlowLevel, predictLowerLevel } from './compression-level.js';
import { coverVariation, limitInterval } from './prediction-range.js';
import { isKeepingUp } from './verdict.js';

/** Minimum wait of a single request, ms: a shorter one is for wake-ups, which a busy loop does not need. */
const MIN_WAIT_MS = 1;
/** Lower end near the bound of the load, as a share of it: some requests still queue for the loop. */
export const NEAR_BOUND_SHARE = 0.8;
/** Minimum and maximum relative difference that is assumed between two runs of a server. */
const [MIN_RUN_NOISE, MAX_RUN_NOISE] = [0.08, 0.2];
/** Minimum gain, or width, at which a prediction is compared with a server that does nothing. */
const MIN_LARGE_GAIN = 2;

/** Predicts throughput after the remedy: from the experiment that applied it, else from the limit's own arithmetic. */
export function predictRemediedThroughput(chosen: Hypothesis, found: Findings): Interval | null {
  const range = predictWithinLoad(chosen, found);
  // A sustained rate stays what it is.
  if (!range || isKeepingUp(found.metrics)) return range;
  return coverVariation(range, found.noise);
}

/** Completes the prediction of another change, which a detector computed for the throughput of the first block. */
export function predictAlternative(range: Interval, chosen: Hypothesis, found: Findings): Interval {
  const scaled = removeProbeCost(scaleToLevel(sortBounds(range), found), chosen, found);
  return coverVariation(capByReference(scaled, found) ?? range, found.noise);
}

/** Predicts throughput after the remedy, bounded by what the load asks for. */
function predictWithinLoad(chosen: Hypothesis, found: Findings): Interval | null {
  const range = predictWithoutLoadBound(chosen, found);
  const maxDemand = computeMaxDemand(chosen, found);
  if (!range || maxDemand === null) return range;
  const bounded = {
    low: Math.min(range.low, NEAR_BOUND_SHARE * maxDemand),
    high: Math.min(range.high, maxDemand),
  };
  return raiseTo(bounded, readRepeatedRemedy(chosen.limit, found));
}

/** Whether the server could serve more after the remedy than the load asks for. */
export function isLimitedByLoad(chosen: Hypothesis, found: Findings): boolean {
  const range = predictWithoutLoadBound(chosen, found);
  const maxDemand = computeMaxDemand(chosen, found);
  return range !== null && maxDemand !== null && (range.low + range.high) / 2 >= maxDemand;
}

/** Predicts throughput after the remedy for an unbounded load. */
function predictWithoutLoadBound(chosen: Hypothesis, found: Findings): Interval | null {
  const repeated = readRepeatedRemedy(chosen.limit, found);
  if (repeated && !isPartialRemedy(chosen.limit)) return repeated;
  const predicted = capByReference(predictUncapped(chosen, found), found);
  return predicted && raiseTo(predicted, repeated);
}

/** Raises a range to a minimum that a part of the remedy yielded. */
function raiseTo({ low, high }: Interval, minimum: Interval | null): Interval {
  if (!minimum) return { low, high };
  return { low: Math.max(low, minimum.low), high: Math.max(high, minimum.high) };
}

/** Reads the result of the repeated remedy; if it was less than in the short blocks, the range covers both. */
function readRepeatedRemedy(limit: LimitId, found: Findings): Interval | null {
  const { repeatedRemedy, noise } = found;
  const pairs = predictFromExperiment(limit, found);
  if (!repeatedRemedy || !pairs) return null;
  const { low, high } = widen(
    repeatedRemedy.throughput,
    Math.min(MAX_RUN_NOISE, Math.max(MIN_RUN_NOISE, noise)),
  );
  return { low, high: repeatedRemedy.throughput < pairs.low ? Math.max(high, pairs.high) : high };
}

/** Finds the experiment that applied the remedy, if it gained enough to be repeated for longer. */
export function findRemedyToRepeat(found: Findings): ExperimentName | null {
  const { chosen } = found.finding;
  if (!chosen) return null;
  const tried = findTriedRemedy(chosen.limit, found);
  if (tried?.metric !== 'throughput' || tried.measured.ratio < MIN_LARGE_GAIN) return null;
  const trial = findRemedyExperiment(chosen.limit, found);
  return trial && !trial.isSubstitute ? trial.experiment : null;
}

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
function isPartialRemedy(limit: LimitId): boolean {
  return (LIMITS[limit].remedyExperiments ?? []).some(({ isPartial }) => isPartial);
}

/**
 * Computes the maximum throughput that the load asks for once the loop has time: N / (R + Z), where R is the time that
 * a single request waits for something other than the loop (the asymptotic bound of a closed load). `null` if no bound
 * is known, or an experiment measured the result.
 */
function computeMaxDemand(chosen: Hypothesis, found: Findings): number | null {
  const { metrics, baselineThroughput } = found;
  const { single, unloadedLatencyMs, maxConcurrency, model, loop, overload } = metrics;
  const busy = single?.inside?.busyLoops ?? null;
  const isUnbounded = model === 'open' || overload !== null || !LIMITS[chosen.limit].savesLoopTime;
  if (isUnbounded || unloadedLatencyMs === null || busy === null || !loop || loop.busy < SATURATED)
    return null;
  if (findTriedRemedy(chosen.limit, found) && !isPartialRemedy(chosen.limit)) return null;
  // Synchronous waits become asynchronous ones, off the loop.
  const isHeld = chosen.limit === 'event-loop-sync-wait';
  const heldMs = isHeld
    ? (1000 * loop.waiting * findWorkingProcesses(metrics.base).length) / metrics.throughput
    : 0;
  const waitMs = unloadedLatencyMs * Math.max(0, 1 - busy) + heldMs;
  if (waitMs < MIN_WAIT_MS) return null;
  const maxDemand = (maxConcurrency * 1000) / (waitMs + metrics.base.load.plan.thinkTimeMs);
  // A single request may wait for something that many do not wait for, such as a delayed acknowledgement.
  return maxDemand > Math.max(metrics.throughput, baselineThroughput) ? maxDemand : null;
}

function predictThroughput(chosen: Hypothesis, found: Findings): Interval | null {
  const { predictedThroughput } = chosen.remedy;
  if (isHotFunctionRemedy(chosen, found)) {
    const hot = findHotFunction(chosen, found);
    if (hot) return predictWithoutFunction(hot, found);
  }
  const level = predictLowerLevel(chosen, found);
  if (level) return level;
  const tried = predictFromExperiment(chosen.limit, found);
  if (tried && isPartialRemedy(chosen.limit) && predictedThroughput) {
    return {
      low: Math.max(tried.low, predictedThroughput.low),
      high: Math.max(tried.high, predictedThroughput.high),
    };
  }
  if (tried) return tried;
  const without = predictFromUselessRemedy(chosen.limit, found);
  if (without) return without;
  return predictedThroughput;
}

/** Predicts throughput without a function, or without a call and all that it calls, which makes garbage too. */
export function predictWithoutFunction(hot: HotFunction, { metrics }: Findings): Interval {
  const { throughput, loopTime } = metrics;
  if (hot.share < MIN_DOMINANT_SHARE) return widen(computeWithoutFunction(hot, throughput), 0.15);
  const gc = loopTime?.gc ?? 0;
  const garbage = (gc * hot.share) / Math.max(0.05, 1 - gc);
  return scale(computeDominantGain(hot.share, garbage), throughput);
}

/** Predicts throughput without the bound of the reference server, at the level of all blocks, without the probe. */
function predictUncapped(chosen: Hypothesis, found: Findings): Interval | null {
  const range = sortBounds(predictThroughput(chosen, found));
  return removeProbeCost(scaleToLevel(range, found), chosen, found);
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

/** Predicts throughput with more processes where less work is the remedy; `null` without idle cores for them. */
export function predictMoreProcesses(chosen: Hypothesis, found: Findings): Interval | null {
  if (!isHotFunctionRemedy(chosen, found)) return null;
  // One idle server does not bound what several serve.
  const alone = { ...found, hotFunctions: [], dominantCall: null, referenceThroughput: null };
  return predictRemediedThroughput(chosen, alone);
}

/** Whether the prediction is large or wide enough to be compared with a server that does nothing. */
export function exceedsReference(chosen: Hypothesis, found: Findings): boolean {
  const range = predictUncapped(chosen, found);
  const { metrics } = found;
  const isMore = LIMITS[chosen.limit].addsCapacity === true && !isHotFunctionRemedy(chosen, found);
  if (!range || isMore || metrics.model === 'open') return false;
  if (found.repeatedRemedy !== null && !isPartialRemedy(chosen.limit)) return false;
  if (!metrics.loop || metrics.loop.busy < SATURATED) return false;
  const others = (chosen.remedy.alternatives ?? []).map((other) => other.predictedThroughput.high);
  const high = Math.max(range.high, ...others);
  return high > MIN_LARGE_GAIN * metrics.throughput || high > MIN_LARGE_GAIN * range.low;
}

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

/** Computes the throughput of a busy loop without a function. */
export function computeWithoutFunction({ share }: HotFunction, throughput: number): number {
  return throughput / (1 - Math.min(0.95, share));
}

/** Finds the experiment that applied the remedy, if it helped. */
function findTriedRemedy(limit: LimitId, found: Findings): ExperimentResult | null {
  const name = findRemedyExperiment(limit, found)?.experiment;
  const tried = found.experiments.find((it) => it.name === name);
  return tried && tried.measured.ratio >= MIN_TRIED_GAIN ? tried : null;
}

/**
 * Predicts throughput where the experiment that applied the whole remedy yielded nothing: it is not what limits
 * throughput, though it may be what makes the slowest responses slow.
 */
function predictFromUselessRemedy(
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

/** Minimum gain of an experiment that helped. */
const MIN_TRIED_GAIN = 1.1;

/** Predicts throughput from the experiment that applied the remedy, narrowed by its prediction where the two agree. */
function predictFromExperiment(limit: LimitId, found: Findings): Interval | null {
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
 * Scales a range from the first block to the level of all: code is compiled meanwhile, and cores change their speed.
 */
function scaleToLevel(
  range: Interval | null,
  { metrics, finding, baselineThroughput }: Findings,
): Interval | null {
  const ages = finding.chosen?.limit === 'degrades-over-time';
  if (!range || ages || !metrics.loop || metrics.loop.busy < SATURATED) return range;
  const by = baselineThroughput / Math.max(1e-9, metrics.throughput);
  return { low: range.low * by, high: range.high * by };
}

/** Maximum share of throughput that is attributed to the probe. */
const MAX_PROBE_SHARE = 0.2;
/** Typical cost of the probe per request, ms: 2 to 5 µs were measured on a Xeon of 2023. */
const PROBE_MS = 0.003;

/**
 * Removes the cost of the probe, whose time a busy loop has for requests again. The cost is the typical one, bounded by
 * the measured interval: a measured difference of a few percent may be chance, and more than the probe can cost.
 */
function removeProbeCost(
  range: Interval | null,
  chosen: Hypothesis,
  found: Findings,
): Interval | null {
  const { metrics, baselineThroughput, probeCost } = found;
  if (!range || !metrics.loop?.isFromProbe || metrics.loop.busy < SATURATED) return range;
  const { low, high } = probeCost ?? { low: 0, high: Number.POSITIVE_INFINITY };
  const loops =
    findWorkingProcesses(metrics.base).length || (metrics.base.inside?.pids.length ?? 0);
  const typicalShare = (PROBE_MS * baselineThroughput) / (1000 * Math.max(1, loops));
  const probeShare = Math.min(Math.max(typicalShare, 1 - high), 1 - low);
  if (probeShare <= 0) return range;
  const isMore = LIMITS[chosen.limit].addsCapacity === true && !isHotFunctionRemedy(chosen, found);
  // More loops serve as much as before each; a single loop that serves more would also spend more time in the probe.
  const share = (rate: number) =>
    Math.min(MAX_PROBE_SHARE, isMore ? probeShare : (probeShare * rate) / baselineThroughput);
  const without = (rate: number) => rate / (1 - share(rate));
  return { low: without(range.low), high: without(range.high) };
}

/**
 * Lower end near the reference server, as a share of it: with the same load, and with a costlier one (TLS, reconnects).
 */
const [SAME_LOAD_SHARE, COSTLIER_LOAD_SHARE] = [0.9, 0.8];

/** Caps a range by the reference server, which does nothing: a real server serves no more, but for noise. */
function capByReference(
  range: Interval | null,
  { referenceThroughput, metrics }: Findings,
): Interval | null {
  if (!range || referenceThroughput === null) return range;
  const { connection, handshake } = metrics.base.load.plan;
  const minShare =
    connection === 'keep-alive' && handshake === null ? SAME_LOAD_SHARE : COSTLIER_LOAD_SHARE;
  return {
    low: Math.min(range.low, minShare * referenceThroughput),
    high: Math.min(range.high, 1.05 * referenceThroughput),
  };
}

/** Sorts the bounds of a range, as two bounds of different kinds may be reversed. */
function sortBounds(range: Interval | null): Interval | null {
  return range && { low: Math.min(range.low, range.high), high: Math.max(range.low, range.high) };
}
