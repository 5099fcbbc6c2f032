import type { Interval } from '../../../statistics/types.js';
import type { Findings } from '../../findings.js';
import { SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import type { Hypothesis } from '../../hypotheses/hypothesis.js';
import { LIMITS } from '../../limits/limits.js';
import { findWorkingProcesses } from '../../metrics/derive.js';
import { isKeepingUp } from '../verdict.js';
import { isHotFunctionRemedy } from './hot-function.js';
import { computeMaxDemand } from './load-bound.js';
import { coverVariation } from './prediction-range.js';
import { readRepeatedRemedy } from './remedy-experiment.js';

/** Corrects a predicted range by what its source does not know. Responses per second. */
export type Correction = (range: Interval, chosen: Hypothesis, found: Findings) => Interval;

/** Corrections by what was measured of this server, in their order. */
export const OWN_CORRECTIONS: Correction[] = [sortBounds, scaleToLevel, removeProbeCost];
/** Corrections to what any server yields for a load without a bound, in their order. */
export const SERVER_CORRECTIONS: Correction[] = [
  ...OWN_CORRECTIONS,
  capByReference,
  raiseToRepeated,
];
/** Corrections to what this load asks for, in their order. */
export const LOAD_CORRECTIONS: Correction[] = [limitToDemand, widenToVariation];

/** Applies corrections in their order. */
export function correct(
  range: Interval,
  corrections: Correction[],
  chosen: Hypothesis,
  found: Findings,
): Interval {
  return corrections.reduce((corrected, apply) => apply(corrected, chosen, found), range);
}

/** Sorts the bounds of a range, as two bounds of different kinds may be reversed. */
function sortBounds({ low, high }: Interval): Interval {
  return { low: Math.min(low, high), high: Math.max(low, high) };
}

/**
 * Scales a range from the first block to the level of all: code is compiled meanwhile, and cores change their speed.
 */
function scaleToLevel(
  range: Interval,
  _: Hypothesis,
  { metrics, finding, baselineThroughput }: Findings,
): Interval {
  const ages = finding.chosen?.limit === 'degrades-over-time';
  if (ages || !metrics.loop || metrics.loop.busy < SATURATED) return range;
  const by = baselineThroughput / Math.max(1e-9, metrics.throughput);
  return { low: range.low * by, high: range.high * by };
}

/** Maximum share of throughput that is attributed to the probe. */
const MAX_PROBE_SHARE = 0.2;
/** Typical cost of the probe per request, ms: 2 to 5 µs were measured on a Xeon of 2023. */
const PROBE_MS = 0.003; // Source: measured: 2 to 5 µs on a Xeon of 2023

/**
 * Removes the cost of the probe, whose time a busy loop has for requests again. The cost is the typical one, bounded by
 * the measured interval: a measured difference of a few percent may be chance, and more than the probe can cost.
 */
function removeProbeCost(range: Interval, chosen: Hypothesis, found: Findings): Interval {
  const { metrics, baselineThroughput, probeCost } = found;
  if (!metrics.loop?.isFromProbe || metrics.loop.busy < SATURATED) return range;
  const { low, high } = probeCost ?? { low: 0, high: Number.POSITIVE_INFINITY };
  const loops =
    findWorkingProcesses(metrics.base).length || (metrics.base.inside?.pids.length ?? 0);
  const typicalShare = (PROBE_MS * baselineThroughput) / (1000 * Math.max(1, loops));
  const probeShare = Math.min(Math.max(typicalShare, 1 - high), 1 - low);
  if (probeShare <= 0) return range;
  const isMore = addsLoops(chosen, found);
  // More loops serve as much as before each; a single loop that serves more would also spend more time in the probe.
  const share = (rate: number) =>
    Math.min(MAX_PROBE_SHARE, isMore ? probeShare : (probeShare * rate) / baselineThroughput);
  const without = (rate: number) => rate / (1 - share(rate));
  return { low: without(range.low), high: without(range.high) };
}

/** Whether the remedy is more loops of the same kind, whose throughput one idle server does not bound. */
export function addsLoops(chosen: Hypothesis, found: Findings): boolean {
  return LIMITS[chosen.limit].addsCapacity === true && !isHotFunctionRemedy(chosen, found);
}

/**
 * Lower end near the reference server, as a share of it: with the same load, and with a costlier one (TLS, reconnects).
 */
const [SAME_LOAD_SHARE, COSTLIER_LOAD_SHARE] = [0.9, 0.8];

/** Caps a range by the reference server, which does nothing: a real server serves no more, but for noise. */
export function capByReference(
  range: Interval,
  _: Hypothesis,
  { referenceThroughput, metrics }: Findings,
): Interval {
  if (referenceThroughput === null) return range;
  const { connection, handshake } = metrics.base.load.plan;
  const minShare =
    connection === 'keep-alive' && handshake === null ? SAME_LOAD_SHARE : COSTLIER_LOAD_SHARE;
  return {
    low: Math.min(range.low, minShare * referenceThroughput),
    high: Math.min(range.high, 1.05 * referenceThroughput),
  };
}

/** Raises a range to what a part of the remedy yielded when it was repeated. */
function raiseToRepeated(
  { low, high }: Interval,
  { limit }: Hypothesis,
  found: Findings,
): Interval {
  const minimum = readRepeatedRemedy(limit, found);
  if (!minimum) return { low, high };
  return { low: Math.max(low, minimum.low), high: Math.max(high, minimum.high) };
}

/** Lower end near the bound of the load, as a share of it: some requests still queue for the loop. */
export const NEAR_BOUND_SHARE = 0.8;

/** Limits a range to what the load asks for. */
function limitToDemand(range: Interval, chosen: Hypothesis, found: Findings): Interval {
  const maxDemand = computeMaxDemand(chosen, found);
  if (maxDemand === null) return range;
  const bounded = {
    low: Math.min(range.low, NEAR_BOUND_SHARE * maxDemand),
    high: Math.min(range.high, maxDemand),
  };
  return raiseToRepeated(bounded, chosen, found);
}

/** Widens a range to the variation of throughput. A sustained rate stays what it is. */
function widenToVariation(range: Interval, _: Hypothesis, { metrics, noise }: Findings): Interval {
  return isKeepingUp(metrics) ? range : coverVariation(range, noise);
}
