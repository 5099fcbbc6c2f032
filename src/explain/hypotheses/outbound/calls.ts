import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { Hypothesis } from '../hypothesis.js';
import { predictPerhapsWithoutCalls } from './calls-from-memory.js';
import { predictAbsorbedExchanges, predictSlowedByExchanges } from './exchange-delay.js';

/** Minimum delay: timers are accurate to a millisecond or two. */
const MIN_DELAY_MS = 5;

const MAX_DELAY_MS = 1000;

/**
 * Share of the response time that the delays add: large enough to measure, small enough for another queue to absorb. Of a
 * time that is mostly a queue, the multiple of a single request's counts: else one that is not absorbed would hold so long
 * that a block of load is over before it is emptied.
 */
const [ADDED_SHARE, MAX_STRETCH] = [0.6, 3];

/** Counts the outbound HTTP calls per response, which the probe can delay. */
function countCallsPerRequest({ base, throughput }: Metrics): number {
  const http = base.inside?.outbound.filter(({ origin }) => !origin.startsWith(TCP_PREFIX)) ?? [];
  const calls = http.reduce((sum, { rate }) => sum + rate, 0);
  return calls / Math.max(1e-6, throughput);
}

/**
 * Computes the delay of each call in 'outbound-delay', ms; `null` if there are no calls, or the delay would be too
 * short.
 */
export function computeCallDelayMs(metrics: Metrics): number | null {
  const calls = countCallsPerRequest(metrics);
  if (calls < 0.5) return null;
  const { responseMs, unloadedLatencyMs } = metrics;
  const stretchedMs = MAX_STRETCH * (unloadedLatencyMs ?? responseMs);
  const ms = Math.round((ADDED_SHARE * Math.min(responseMs, stretchedMs)) / Math.max(1, calls));
  return ms < MIN_DELAY_MS ? null : Math.min(MAX_DELAY_MS, ms);
}

/** Computes the time that the delays add to a request: its calls may run in sequence or in parallel. */
function computeAddedMs(metrics: Metrics): { min: number; max: number } | null {
  const each = computeCallDelayMs(metrics);
  if (each === null) return null;
  const inSeries = each * countCallsPerRequest(metrics);
  return { min: Math.min(each, inSeries), max: Math.max(each, inSeries) };
}

/** Predicts changed calls where requests do not queue: N / (R + delay). */
export function predictSlowedByDelay(metrics: Metrics): Hypothesis['predictions'] {
  const added = computeAddedMs(metrics);
  const others = { ...predictSlowedByExchanges(metrics), ...predictPerhapsWithoutCalls(metrics) };
  if (!added) return others;
  const { responseMs } = metrics;
  return {
    ...others,
    'outbound-delay': {
      low: (0.93 * responseMs) / (responseMs + added.max),
      high: (1.07 * responseMs) / (responseMs + added.min),
    },
  };
}

/** Predicts delayed calls where requests queue for something else: a delayed request waits less in that queue. */
export function predictAbsorbedDelay(metrics: Metrics): Hypothesis['predictions'] {
  const added = computeAddedMs(metrics);
  const exchanges = predictAbsorbedExchanges(metrics);
  if (!added || metrics.unloadedLatencyMs === null) return exchanges;
  const minRatio = Math.min(1, metrics.responseMs / (metrics.unloadedLatencyMs + added.max));
  return { ...exchanges, 'outbound-delay': { low: 0.9 * minRatio, high: 1.08 } };
}

/** Predicts changed calls where one or a few requests are admitted at a time, and call before or after admission. */
export function predictSerializedDelay(metrics: Metrics): Hypothesis['predictions'] {
  const added = computeAddedMs(metrics);
  const others = predictPerhapsWithoutCalls(metrics);
  if (!added || metrics.unloadedLatencyMs === null) return others;
  const minRatio = metrics.unloadedLatencyMs / (metrics.unloadedLatencyMs + added.max);
  return { ...others, 'outbound-delay': { low: 0.9 * minRatio, high: 1.08 } };
}
