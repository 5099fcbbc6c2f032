import type { Range } from '../../statistics/types.js';
import type { ExperimentName } from '../experiments/types.js';
import { SATURATED } from '../hypotheses/event-loop/loop-capacity.js';
import { type Hypothesis, scale, widen } from '../hypotheses/hypothesis.js';
import type { Findings } from '../investigation-types.js';
import type { LimitId } from '../limits/ids.js';
import { findWorkingProcesses } from '../metrics/derive.js';
import { findTopOutsideNode } from '../profile/analyze.js';
import type { ExperimentResult, HotFunction } from '../result.js';

/** How an experiment stands to the remedy of a limit. */
interface RemedyExperiment {
  experiment: ExperimentName;
  /** It is a part of the remedy, which gives no less. */
  isPartial?: true;
  /** It does the same in another way, which may cost less. */
  isSubstitute?: true;
}

/** The experiments that are the remedy itself, for a while: what they gave is the best prediction. */
const REMEDY_EXPERIMENTS: Partial<Record<LimitId, RemedyExperiment | RemedyExperiment[]>> = {
  'generator-saturated': { experiment: 'two generators' },
  'event-loop-cpu': { experiment: 'second process' },
  'single-core': { experiment: 'second process' },
  'gc-young': { experiment: 'young generation x4' },
  'gc-old': { experiment: 'heap x2', isPartial: true },
  compression: { experiment: 'identity encoding' },
  threadpool: { experiment: 'thread pool x4' },
  'slow-dependency': { experiment: 'client deadline' },
  'head-of-line': { experiment: 'depth 1' },
  // Nagle still collects what comes before the acknowledgement.
  'nagle-delayed-ack': [
    { experiment: 'early acknowledgement', isSubstitute: true },
    { experiment: 'questions at once' },
  ],
  // The parts are collected by the stream, after all that each of them costs before.
  'many-writes': { experiment: 'writes corked', isPartial: true },
  // Formatted all the same.
  logging: { experiment: 'output muted', isPartial: true },
  'connection-churn': { experiment: 'keep-alive' },
  'tls-handshake': { experiment: 'tls kept' },
};

/** Whose remedy is more processes, or another load: they are not bound to what one idle server can give. */
const MORE_CAPACITY_LIMITS = new Set<LimitId>([
  'event-loop-cpu',
  'single-core',
  'worker-imbalance',
  'shared-cores',
  'generator-saturated',
  'cpu-quota',
]);
/** Whose remedy is less time of the loop for the same requests: what they wait for beside it stays. */
const LOOP_TIME_LIMITS = new Set<LimitId>([
  'event-loop-cpu',
  'event-loop-blocked',
  'event-loop-sync-wait',
  'gc-young',
  'gc-old',
  'logging',
  'degrades-over-time',
  'idle-work',
]);
/** A wait of a single request that is shorter is that for wake-ups, which a busy loop does not have. */
const MIN_WAIT_MS = 1;
/** Where requests wait as long as the load lets them, some queue for the loop all the same. */
const NEAR_BOUND_SHARE = 0.8;
/** One run of a server differs from another by so much, and where its blocks do by more, by so much at most. */
const [MIN_RUN_NOISE, MAX_RUN_NOISE] = [0.08, 0.2];
/** A prediction beyond so many times what there is, or as wide, is held against a server that does nothing. */
const MIN_LARGE_GAIN = 2;

/** Throughput after the remedy: by the experiment that was the remedy, else by what the limit's own arithmetic says. */
export function predictRemediedThroughput(chosen: Hypothesis, found: Findings): Range | null {
  const range = predictWithoutLoadBound(chosen, found);
  const most = computeMaxDemand(chosen, found);
  if (!range || most === null) return range;
  const bounded = {
    low: Math.min(range.low, NEAR_BOUND_SHARE * most),
    high: Math.min(range.high, most),
  };
  return raiseTo(bounded, readRepeatedRemedy(chosen.limit, found));
}

/** Whether the server could give more after the remedy than the load asks for. */
export function isLimitedByLoad(chosen: Hypothesis, found: Findings): boolean {
  const range = predictWithoutLoadBound(chosen, found);
  const most = computeMaxDemand(chosen, found);
  return range !== null && most !== null && (range.low + range.high) / 2 >= most;
}

/** The same for a load that asks for more and more. */
function predictWithoutLoadBound(chosen: Hypothesis, found: Findings): Range | null {
  const repeated = readRepeatedRemedy(chosen.limit, found);
  if (repeated && !isPartialRemedy(chosen.limit)) return repeated;
  const predicted = capByReference(predictUncapped(chosen, found), found);
  return predicted && raiseTo(predicted, repeated);
}

/** A part of the remedy gave that much. */
function raiseTo({ low, high }: Range, minimum: Range | null): Range {
  if (!minimum) return { low, high };
  return { low: Math.max(low, minimum.low), high: Math.max(high, minimum.high) };
}

/** What the remedy gave for longer. Where that was less than in short blocks, it may be either. */
function readRepeatedRemedy(limit: LimitId, found: Findings): Range | null {
  const { repeatedRemedy, noise } = found;
  const pairs = predictFromExperiment(limit, found);
  if (!repeatedRemedy || !pairs) return null;
  const { low, high } = widen(
    repeatedRemedy.throughput,
    Math.min(MAX_RUN_NOISE, Math.max(MIN_RUN_NOISE, noise)),
  );
  return { low, high: repeatedRemedy.throughput < pairs.low ? Math.max(high, pairs.high) : high };
}

/** The experiment that was the remedy, where it gave so much more that it is worth to be tried for longer. */
export function findRemedyToRepeat(found: Findings): ExperimentName | null {
  const { chosen } = found.finding;
  if (!chosen) return null;
  const tried = findTriedRemedy(chosen.limit, found);
  if (tried?.metric !== 'throughput' || tried.measured.ratio < MIN_LARGE_GAIN) return null;
  const trial = findRemedyExperiment(chosen.limit, found);
  return trial && !trial.isSubstitute ? trial.experiment : null;
}

/** The one of them that was made; of several that gave most. */
function findRemedyExperiment(
  limit: LimitId,
  { experiments }: Findings,
): RemedyExperiment | undefined {
  const gave = ({ experiment }: RemedyExperiment) =>
    experiments.find(({ name }) => name === experiment)?.measured.ratio ?? null;
  const made = [REMEDY_EXPERIMENTS[limit] ?? []].flat().filter((trial) => gave(trial) !== null);
  return made.sort((a, b) => (gave(b) ?? 0) - (gave(a) ?? 0))[0];
}

/** Whether the experiment is a part of the remedy only. */
function isPartialRemedy(limit: LimitId): boolean {
  return [REMEDY_EXPERIMENTS[limit] ?? []].flat().some(({ isPartial }) => isPartial);
}

/**
 * The most that the load asks for once the loop has time: N requests that wait for something else meanwhile give N / (R + Z), where R is
 * what a single one waits beside the loop (the asymptotic bound of a closed load). `null`: nothing is known to bound it, or an experiment
 * has shown what there is then.
 */
function computeMaxDemand(chosen: Hypothesis, found: Findings): number | null {
  const { metrics, baselineThroughput } = found;
  const { single, unloadedLatencyMs, maxConcurrency, model, loop, overload } = metrics;
  const busy = single?.inside?.busyLoops ?? null;
  const isUnbounded = model === 'open' || overload !== null || !LOOP_TIME_LIMITS.has(chosen.limit);
  if (isUnbounded || unloadedLatencyMs === null || busy === null || !loop || loop.busy < SATURATED)
    return null;
  if (findTriedRemedy(chosen.limit, found) && !isPartialRemedy(chosen.limit)) return null;
  // What holds the loop while it waits goes on beside it.
  const isHeld = chosen.limit === 'event-loop-sync-wait';
  const heldMs = isHeld
    ? (1000 * loop.waiting * findWorkingProcesses(metrics.base).length) / metrics.throughput
    : 0;
  const waitMs = unloadedLatencyMs * Math.max(0, 1 - busy) + heldMs;
  if (waitMs < MIN_WAIT_MS) return null;
  const most = (maxConcurrency * 1000) / (waitMs + metrics.base.load.plan.thinkTimeMs);
  // A single request may wait for what many do not, as an acknowledgement that is delayed.
  return most > Math.max(metrics.throughput, baselineThroughput) ? most : null;
}

function predictThroughput(chosen: Hypothesis, found: Findings): Range | null {
  const { predictedThroughput } = chosen.remedy;
  const tried = predictFromExperiment(chosen.limit, found);
  if (tried && isPartialRemedy(chosen.limit) && predictedThroughput) {
    return {
      low: Math.max(tried.low, predictedThroughput.low),
      high: Math.max(tried.high, predictedThroughput.high),
    };
  }
  if (tried) return tried;
  const hot = isHotFunctionRemedy(chosen, found) ? findHotFunction(chosen, found) : null;
  return hot
    ? widen(computeWithoutFunction(hot, found.metrics.throughput), 0.15)
    : predictedThroughput;
}

/** What is said of the first block with the probe, for the level of all blocks without it. */
function predictUncapped(chosen: Hypothesis, found: Findings): Range | null {
  const range = sortBounds(predictThroughput(chosen, found));
  return removeProbeCost(scaleToLevel(range, found), chosen, found);
}

/** Whether what is promised is that of the same loop without its most costly function. */
function isHotFunctionRemedy(chosen: Hypothesis, found: Findings): boolean {
  const { limit } = chosen;
  return (
    limit === 'event-loop-cpu' &&
    !findTriedRemedy(limit, found) &&
    findHotFunction(chosen, found) !== null
  );
}

/** Whether it is worth to know what a server that does nothing would give. */
export function exceedsReference(chosen: Hypothesis, found: Findings): boolean {
  const range = predictUncapped(chosen, found);
  const { metrics } = found;
  if (!range || MORE_CAPACITY_LIMITS.has(chosen.limit) || metrics.model === 'open') return false;
  if (found.repeatedRemedy !== null && !isPartialRemedy(chosen.limit)) return false;
  if (!metrics.loop || metrics.loop.busy < SATURATED) return false;
  return (
    range.high > MIN_LARGE_GAIN * metrics.throughput || range.high > MIN_LARGE_GAIN * range.low
  );
}

/** Of a busy loop, the function outside of Node itself that takes most of its time. */
export function findHotFunction(
  { limit, causeOf }: Hypothesis,
  { hotFunctions }: Findings,
): HotFunction | null {
  const isLoop = limit === 'event-loop-cpu' || causeOf === 'event-loop-cpu';
  const top = findTopOutsideNode(hotFunctions);
  return isLoop && top && top.share >= 0.1 ? top : null;
}

/** Throughput of a busy loop without a function. */
export function computeWithoutFunction({ share }: HotFunction, throughput: number): number {
  return throughput / (1 - Math.min(0.95, share));
}

/** The experiment that was the remedy, if there was one and it helped. */
function findTriedRemedy(limit: LimitId, found: Findings): ExperimentResult | null {
  const name = findRemedyExperiment(limit, found)?.experiment;
  const tried = found.experiments.find((it) => it.name === name);
  return tried && tried.measured.ratio >= 1.1 ? tried : null;
}

/** Throughput after the remedy by an experiment: what was measured, as far as it agrees with what was said before. */
function predictFromExperiment(limit: LimitId, found: Findings): Range | null {
  const tried = findTriedRemedy(limit, found);
  if (!tried) return null;
  const { measured } = tried;
  const { ratio } = measured;
  // Of few pairs that differ the interval reaches far up: what was measured stays the middle.
  const off = Math.min(ratio - measured.low, measured.high - ratio);
  const range = { low: Math.max(1, ratio - off), high: ratio + off };
  const predicted = tried.predicted[limit] ?? range;
  const agrees = predicted.low <= ratio && ratio <= predicted.high;
  const agreed = agrees
    ? { low: Math.max(range.low, predicted.low), high: Math.min(range.high, predicted.high) }
    : range;
  return scale(agreed, found.metrics.throughput);
}

/** Ratios are of the first block; a busy loop may have become faster since, as its code was compiled, or its cores slower. */
function scaleToLevel(
  range: Range | null,
  { metrics, finding, baselineThroughput }: Findings,
): Range | null {
  const ages = finding.chosen?.limit === 'degrades-over-time';
  if (!range || ages || !metrics.loop || metrics.loop.busy < SATURATED) return range;
  const by = baselineThroughput / Math.max(1e-9, metrics.throughput);
  return { low: range.low * by, high: range.high * by };
}

/** The most that the probe is taken to hold back. */
const MAX_PROBE_SHARE = 0.2;
/** What the probe costs for a request of which nothing else is known, ms: between 2 µs and 5 µs on a Xeon of 2023. */
const PROBE_MS = 0.003;

/**
 * A loop that stays busy has the probe's time for its requests again when the probe is gone. That is taken to be the usual time, as far as
 * what was measured permits: a difference of a few percent that may be chance would be more than the probe can cost of a long request.
 */
function removeProbeCost(range: Range | null, chosen: Hypothesis, found: Findings): Range | null {
  const { metrics, baselineThroughput, probeCost } = found;
  if (!range || !metrics.loop?.isFromProbe || metrics.loop.busy < SATURATED) return range;
  const { low, high } = probeCost ?? { low: 0, high: Number.POSITIVE_INFINITY };
  const loops =
    findWorkingProcesses(metrics.base).length || (metrics.base.inside?.pids.length ?? 0);
  const usual = (PROBE_MS * baselineThroughput) / (1000 * Math.max(1, loops));
  const held = Math.min(Math.max(usual, 1 - high), 1 - low);
  if (held <= 0) return range;
  const isMore = MORE_CAPACITY_LIMITS.has(chosen.limit) && !isHotFunctionRemedy(chosen, found);
  // Of more loops each gives what it did; of one that gives more the probe would take more.
  const share = (rate: number) =>
    Math.min(MAX_PROBE_SHARE, isMore ? held : (held * rate) / baselineThroughput);
  const without = (rate: number) => rate / (1 - share(rate));
  return { low: without(range.low), high: without(range.high) };
}

/** What a server gives that could do more than one that does nothing, as a part of that: the load is the same, or (TLS, new connections) dearer. */
const [SAME_LOAD_SHARE, COSTLIER_LOAD_SHARE] = [0.9, 0.8];

/** No server that does something gives more than one that does nothing, but for noise. */
function capByReference(
  range: Range | null,
  { referenceThroughput, metrics }: Findings,
): Range | null {
  if (!range || referenceThroughput === null) return range;
  const { connection, tls } = metrics.base.load.plan;
  const least = connection === 'keep-alive' && tls === null ? SAME_LOAD_SHARE : COSTLIER_LOAD_SHARE;
  return {
    low: Math.min(range.low, least * referenceThroughput),
    high: Math.min(range.high, 1.05 * referenceThroughput),
  };
}

/** Two bounds of different kinds may come out the other way round. */
function sortBounds(range: Range | null): Range | null {
  return range && { low: Math.min(range.low, range.high), high: Math.max(range.low, range.high) };
}
