import type { Findings } from '../../findings.js';
import { SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import type { Hypothesis } from '../../hypotheses/hypothesis.js';
import { LIMITS } from '../../limits/limits.js';
import { findWorkingProcesses } from '../../metrics/derive.js';
import { findTriedRemedy, isPartialRemedy } from './remedy-experiment.js';

/** Minimum wait of a single request, ms: a shorter one is for wake-ups, which a busy loop does not need. */
const MIN_WAIT_MS = 1;

/** Computes the maximum throughput that the load asks for; `null` also if an experiment measured the result. */
export function computeMaxDemand(chosen: Hypothesis, found: Findings): number | null {
  if (findTriedRemedy(chosen.limit, found) && !isPartialRemedy(chosen.limit)) return null;
  return computeLoadBound(chosen, found);
}

/**
 * Computes the maximum throughput that the load asks for once the loop has time: N / (R + Z), where R is the time that
 * a single request waits for something other than the loop (the asymptotic bound of a closed load). `null` if no bound
 * is known.
 */
export function computeLoadBound(chosen: Hypothesis, found: Findings): number | null {
  const { metrics, baselineThroughput } = found;
  const { single, unloadedLatencyMs, maxConcurrency, model, loop, overload } = metrics;
  const busy = single?.inside?.busyLoops ?? null;
  const isUnbounded = model === 'open' || overload !== null || !LIMITS[chosen.limit].savesLoopTime;
  if (isUnbounded || unloadedLatencyMs === null || busy === null || !loop || loop.busy < SATURATED)
    return null;
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
