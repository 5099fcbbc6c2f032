import { findMainDependency } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Hypothesis } from '../hypothesis.js';
import { predictWithoutCalls } from './calls-from-memory.js';
import { findLockingDependency } from './dependency-lock.js';
import { chooseExchangeDelay, predictHeldExchanges } from './exchange-delay.js';

/** Minimum share of a single request's time in its calls, so that what admits one request admits one call. */
const MIN_CALL_SHARE = 0.8;

/** Range of the requests served at a time if it is one. */
const [MIN_ONE, MAX_ONE] = [0.8, 1.25];

/** Share of the calls that is made meanwhile at least: the times have errors. */
const MIN_WITHIN = 0.8;

/**
 * Predicts the experiments with calls where requests are admitted one or a few at a time. What admits them may be held
 * during the calls, or before or after them, and a rate limit is not held. It is known where the calls take nearly all of a
 * single request's time and one is made at a time, and where a lock at the dependency is held until later exchanges.
 */
export function predictAdmittedCalls(metrics: Metrics): Hypothesis['predictions'] {
  const { throughput, unloadedLatencyMs } = metrics;
  const permits = Math.max(1, (throughput * (unloadedLatencyMs ?? 0)) / 1000);
  const heldMs = (permits * 1000) / throughput;
  const isWithin = areCallsAdmitted(metrics, permits);
  return {
    ...predictHeldExchanges(metrics, heldMs, countHeldExchanges(metrics, isWithin)),
    ...(isWithin && predictWithoutCalls(metrics)),
    'pool-x2': { low: 0.8, high: 1.15 },
    // More of them may wait for a lock at the dependency.
    'dependency-time-pool-x2': { low: 0.8, high: 2.6 },
  };
}

/** Whether the calls take nearly all of a single request's time, and one request is served at a time. */
function areCallsAdmitted(metrics: Metrics, permits: number): boolean {
  const origin = findMainDependency(metrics)?.origin;
  const alone = metrics.single?.inside?.outbound.find((call) => call.origin === origin);
  const isOne = MIN_ONE <= permits && permits <= MAX_ONE;
  return alone !== undefined && alone.answering >= MIN_CALL_SHARE && isOne;
}

function countHeldExchanges(metrics: Metrics, isWithin: boolean): number {
  const perRequest = chooseExchangeDelay(metrics)?.perRequest ?? 0;
  if (isWithin) return MIN_WITHIN * perRequest;
  // The first one waits for the lock, the last one releases it.
  return findLockingDependency(metrics) && perRequest >= 2 ? 1 : 0;
}
