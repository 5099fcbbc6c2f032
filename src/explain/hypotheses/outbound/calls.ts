import type { Metrics } from '../../metrics/types.js';
import { TCP } from '../../observe/probe/view.js';
import type { Hypothesis } from '../hypothesis.js';

/** Timers are exact to a millisecond or two. */
const LEAST_DELAY_MS = 5;
const MOST_DELAY_MS = 1000;
/** Of the response time, added by the delays: enough to show, little enough for a queue elsewhere to absorb. */
const ADDED = 0.6;

/** Calls by HTTP to other services per response: those that the probe can delay. */
function callsPerRequest({ base, throughput }: Metrics): number {
  const http = base.inside?.outbound.filter(({ origin }) => !origin.startsWith(TCP)) ?? [];
  const calls = http.reduce((sum, { rate }) => sum + rate, 0);
  return calls / Math.max(1e-6, throughput);
}

/** By how much each call begins later in the experiment; `null` where there are no calls, or too short ones. */
export function callDelayMs(facts: Metrics): number | null {
  const calls = callsPerRequest(facts);
  if (calls < 0.5) return null;
  const ms = Math.round((ADDED * facts.responseMs) / Math.max(1, calls));
  return ms < LEAST_DELAY_MS ? null : Math.min(MOST_DELAY_MS, ms);
}

/** What the delays add to a request: calls may come one after the other, or all at once. */
function addedMs(facts: Metrics): { least: number; most: number } | null {
  const each = callDelayMs(facts);
  if (each === null) return null;
  const inSeries = each * callsPerRequest(facts);
  return { least: Math.min(each, inSeries), most: Math.max(each, inSeries) };
}

/** The requests wait for nothing that queues: N / (R + delay). */
export function slowedByDelay(facts: Metrics): Hypothesis['predictions'] {
  const added = addedMs(facts);
  if (!added) return {};
  const { responseMs } = facts;
  return {
    'calls delayed': {
      low: (0.93 * responseMs) / (responseMs + added.most),
      high: (1.07 * responseMs) / (responseMs + added.least),
    },
  };
}

/** The requests queue for something else: who calls later waits less there, as long as there is a queue at all. */
export function delayAbsorbed(facts: Metrics): Hypothesis['predictions'] {
  const added = addedMs(facts);
  if (!added || facts.unloadedLatencyMs === null) return {};
  const least = Math.min(1, facts.responseMs / (facts.unloadedLatencyMs + added.most));
  return { 'calls delayed': { low: 0.9 * least, high: 1.08 } };
}

/** Only one or a few are let in at a time: the calls are made by those who are in, or on the way there. */
export function delayHeld(facts: Metrics): Hypothesis['predictions'] {
  const added = addedMs(facts);
  if (!added || facts.unloadedLatencyMs === null) return {};
  const least = facts.unloadedLatencyMs / (facts.unloadedLatencyMs + added.most);
  return { 'calls delayed': { low: 0.9 * least, high: 1.08 } };
}
