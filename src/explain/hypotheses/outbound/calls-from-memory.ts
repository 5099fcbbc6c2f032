import { findMainDependency } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { OutboundView } from '../../observe/types.js';
import { deriveLoopLimit, estimateWarmLimit } from '../event-loop/loop-capacity.js';
import { ANY_RATIO, type Hypothesis } from '../hypothesis.js';

/** Minimum share of the calls that are answered from memory, if the experiment has a result. */
export const MIN_ANSWERED_SHARE = 0.8;

/** Maximum part of a loop's time per request that calls cost which do not go out. */
const MAX_SAVED_LOOP_TIME = 0.4; // Source: judgment: sockets, parsing and events of a call

/** Finds the dependency whose calls 'outbound-from-memory' answers; `null` if the main one is not called by HTTP. */
export function findAnsweredDependency(metrics: Metrics): OutboundView | null {
  const call = findMainDependency(metrics);
  return call?.origin.startsWith('http') && !call.origin.startsWith(TCP_PREFIX) ? call : null;
}

/**
 * Predicts 'outbound-from-memory' where requests queue in the dependency, for a connection to it, or nowhere: they
 * spend only the rest of their time, R - wait.
 */
export function predictWithoutCalls(metrics: Metrics): Hypothesis['predictions'] {
  const call = findAnsweredDependency(metrics);
  if (!call) return {};
  const waitMs = ((call.answering + call.waiting) * 1000) / metrics.throughput;
  return predictShorter(metrics, metrics.responseMs, waitMs);
}

/**
 * Predicts 'outbound-from-memory' where the calls are `callsMs` of the time that bounds throughput, until the loop is the
 * limit.
 */
export function predictShorter(
  metrics: Metrics,
  boundMs: number,
  callsMs: number,
): Hypothesis['predictions'] {
  const { throughput } = metrics;
  const gain = (callMs: number, part: number) =>
    boundMs / Math.max(MIN_REST * boundMs, part * (boundMs - callMs));
  const cold = (deriveLoopLimit(metrics) ?? Number.POSITIVE_INFINITY) / throughput;
  const warm =
    (estimateWarmLimit(metrics)?.high ?? Number.POSITIVE_INFINITY) /
    throughput /
    (1 - MAX_SAVED_LOOP_TIME);
  return {
    'outbound-from-memory': {
      low: 0.8 * Math.min(gain(MIN_ANSWERED_SHARE * callsMs, 1), Math.max(1, cold)),
      high: 1.2 * Math.min(gain(callsMs, OWN_PART), Math.max(1, warm)),
    },
  };
}

/** Minimum rest of the time, and minimum part of the rest that is not spent on the calls before and after they go out. */
const [MIN_REST, OWN_PART] = [0.01, 0.1]; // Source: measured: 0.07 to 0.3, with the service queue of the bench

/** Predicts nothing of 'outbound-from-memory', where the calls may be a part of what bounds throughput, or not. */
export function predictPerhapsWithoutCalls(metrics: Metrics): Hypothesis['predictions'] {
  return findAnsweredDependency(metrics) ? { 'outbound-from-memory': ANY_RATIO } : {};
}
