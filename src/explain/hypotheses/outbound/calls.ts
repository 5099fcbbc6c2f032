import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { Hypothesis } from '../hypothesis.js';

/** Timers are exact to a millisecond or two. */
const MIN_DELAY_MS = 5;
const MAX_DELAY_MS = 1000;
/** Of the response time, added by the delays: enough to show, little enough for a queue elsewhere to absorb. */
const ADDED_SHARE = 0.6;

/** Calls by HTTP to other services per response: those that the probe can delay. */
function countCallsPerRequest({ base, throughput }: Metrics): number {
  const http = base.inside?.outbound.filter(({ origin }) => !origin.startsWith(TCP_PREFIX)) ?? [];
  const calls = http.reduce((sum, { rate }) => sum + rate, 0);
  return calls / Math.max(1e-6, throughput);
}

/** By how much each call begins later in the experiment; `null` where there are no calls, or too short ones. */
export function computeCallDelayMs(metrics: Metrics): number | null {
  const calls = countCallsPerRequest(metrics);
  if (calls < 0.5) return null;
  const ms = Math.round((ADDED_SHARE * metrics.responseMs) / Math.max(1, calls));
  return ms < MIN_DELAY_MS ? null : Math.min(MAX_DELAY_MS, ms);
}

/** What the delays add to a request: calls may come one after the other, or all at once. */
function computeAddedMs(metrics: Metrics): { min: number; max: number } | null {
  const each = computeCallDelayMs(metrics);
  if (each === null) return null;
  const inSeries = each * countCallsPerRequest(metrics);
  return { min: Math.min(each, inSeries), max: Math.max(each, inSeries) };
}

/** The requests wait for nothing that queues: N / (R + delay). */
export function predictSlowedByDelay(metrics: Metrics): Hypothesis['predictions'] {
  const added = computeAddedMs(metrics);
  if (!added) return {};
  const { responseMs } = metrics;
  return {
    'calls delayed': {
      low: (0.93 * responseMs) / (responseMs + added.max),
      high: (1.07 * responseMs) / (responseMs + added.min),
    },
  };
}

/** The requests queue for something else: who calls later waits less there, as long as there is a queue at all. */
export function predictAbsorbedDelay(metrics: Metrics): Hypothesis['predictions'] {
  const added = computeAddedMs(metrics);
  if (!added || metrics.unloadedLatencyMs === null) return {};
  const least = Math.min(1, metrics.responseMs / (metrics.unloadedLatencyMs + added.max));
  return { 'calls delayed': { low: 0.9 * least, high: 1.08 } };
}

/** Only one or a few are let in at a time: the calls are made by those who are in, or on the way there. */
export function predictSerializedDelay(metrics: Metrics): Hypothesis['predictions'] {
  const added = computeAddedMs(metrics);
  if (!added || metrics.unloadedLatencyMs === null) return {};
  const least = metrics.unloadedLatencyMs / (metrics.unloadedLatencyMs + added.max);
  return { 'calls delayed': { low: 0.9 * least, high: 1.08 } };
}
