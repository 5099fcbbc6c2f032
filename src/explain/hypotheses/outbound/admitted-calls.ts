import { findMainDependency } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Hypothesis } from '../hypothesis.js';
import { findAnsweredDependency, predictShorter } from './calls-from-memory.js';
import { findLockingDependency } from './dependency-lock.js';
import { chooseExchangeDelay, predictHeldExchanges } from './exchange-delay.js';

/**
 * Minimum share of a single request's time in its calls, and with the loop's CPU time, so that what admits one request
 * admits its calls: a rate limit would let a single request wait, too.
 */
const [MIN_CALL_SHARE, MIN_EXPLAINED_SHARE] = [0.6, 0.8];

/** Range of the requests served at a time if it is one, and maximum of the calls that wait for a response then. */
const [MIN_ONE, MAX_ONE] = [0.8, 1.25];

/** Share of the calls that is made meanwhile at least: the times have errors. */
const MIN_WITHIN = 0.8;

/**
 * Predicts the experiments with calls where requests are admitted one or a few at a time. What admits them may be held
 * during the calls, or before or after them, and a rate limit is not held. It is known where the calls take nearly all of a
 * single request's time and one request is served at a time, and where a lock at the dependency is held until later
 * exchanges.
 */
export function predictAdmittedCalls(metrics: Metrics): Hypothesis['predictions'] {
  const permits = (metrics.throughput * (metrics.unloadedLatencyMs ?? 0)) / 1000;
  const heldMs = (Math.max(1, permits) * 1000) / metrics.throughput;
  const callsMs = measureCallsMs(metrics);
  const isOne = MIN_ONE <= permits && permits <= MAX_ONE && areCallsAll(metrics, callsMs);
  const isWithin = isOne && (findMainDependency(metrics)?.answering ?? 0) <= MAX_ONE;
  return {
    ...predictHeldExchanges(metrics, heldMs, countHeldExchanges(metrics, isOne, isWithin)),
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

/** Whether the calls take nearly all of a single request's time. */
function areCallsAll({ unloadedLatencyMs, loop }: Metrics, callsMs: number): boolean {
  if (unloadedLatencyMs === null || callsMs < MIN_CALL_SHARE * unloadedLatencyMs) return false;
  return callsMs + (loop?.singleCpuMs ?? 0) >= MIN_EXPLAINED_SHARE * unloadedLatencyMs;
}

function countHeldExchanges(metrics: Metrics, isOne: boolean, isWithin: boolean): number {
  const perRequest = chooseExchangeDelay(metrics)?.perRequest ?? 0;
  if (isWithin) return MIN_WITHIN * perRequest;
  // Requests that wait at the dependency: the first exchange may wait for a lock, the last one releases it.
  return (isOne || findLockingDependency(metrics)) && perRequest >= 2 ? 1 : 0;
}
