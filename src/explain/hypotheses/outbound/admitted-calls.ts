import { findMainDependency } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Hypothesis } from '../hypothesis.js';
import { findAnsweredDependency, predictShorter } from './calls-from-memory.js';
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
  const callsMs = measureCallsMs(metrics);
  const isOne = MIN_ONE <= permits && permits <= MAX_ONE;
  const isWithin = isOne && callsMs >= MIN_CALL_SHARE * (unloadedLatencyMs ?? 0);
  return {
    ...predictHeldExchanges(metrics, heldMs, countHeldExchanges(metrics, isWithin)),
    ...(isWithin && findAnsweredDependency(metrics) && predictShorter(metrics, heldMs, callsMs)),
    'pool-x2': { low: 0.8, high: 1.15 },
    // More of them may wait for a lock at the dependency.
    'dependency-time-pool-x2': { low: 0.8, high: 2.6 },
  };
}

/** Measures how long the calls of a single request to the main dependency take; 0 if that is unknown. */
function measureCallsMs(metrics: Metrics): number {
  const { single } = metrics;
  const origin = findMainDependency(metrics)?.origin;
  const alone = single?.inside?.outbound.find((call) => call.origin === origin);
  return !single || !alone || single.throughput === 0
    ? 0
    : (alone.answering * 1000) / single.throughput;
}

function countHeldExchanges(metrics: Metrics, isWithin: boolean): number {
  const perRequest = chooseExchangeDelay(metrics)?.perRequest ?? 0;
  if (isWithin) return MIN_WITHIN * perRequest;
  // The first one waits for the lock, the last one releases it.
  return findLockingDependency(metrics) && perRequest >= 2 ? 1 : 0;
}
