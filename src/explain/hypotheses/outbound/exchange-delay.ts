import { findMainDependency } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { Hypothesis } from '../hypothesis.js';
import { parsePort } from './address.js';

/** What is known of the exchanges with the main dependency, and the delay of each in 'dependency-delay'. */
export interface ExchangeDelay {
  origin: string;
  /** The delay, ms, and by how much a timer is late at most. */
  ms: number;
  maxMs: number;
  perRequest: number;
  /** Mean time of an exchange of a single request. */
  aloneMs: number;
  /** Maximum number of connections; `null` if it is unknown. */
  connections: number | null;
}

/**
 * Share of an exchange's time that the delay adds. Of one that takes far longer than that of a single request, most is a
 * queue, which hides the delay or not: there the multiple of the single one counts.
 */
const [ADDED_SHARE, MAX_STRETCH] = [0.6, 3];

/** Range of the delay, and lateness of a timer of a loop that is not busy, ms. */
const [MIN_DELAY_MS, MAX_DELAY_MS, MAX_LATENESS_MS] = [3, 1000, 1.5];

/** Minimum number of exchanges per request, so that most requests are delayed. */
const MIN_PER_REQUEST = 0.5;

/**
 * Chooses the delay of each exchange with the main dependency; `null` if that is called by HTTP, seldom, or its time
 * is not known.
 */
export function chooseExchangeDelay(metrics: Metrics): ExchangeDelay | null {
  const { throughput, single, sockets } = metrics;
  const call = findMainDependency(metrics);
  const alone = single?.inside?.outbound.find(({ origin }) => origin === call?.origin);
  if (!call?.origin.startsWith(TCP_PREFIX) || !alone) return null;
  // By Little's law, as the times of protocols other than HTTP are medians.
  const [nowMs, aloneMs] = [call, alone].map(({ answering, rate }) =>
    rate > 0 ? (answering * 1000) / rate : 0,
  );
  const perRequest = call.rate / Math.max(1e-6, throughput);
  if (!nowMs || !aloneMs || perRequest < MIN_PER_REQUEST) return null;
  const wantedMs = Math.ceil(ADDED_SHARE * Math.min(nowMs, MAX_STRETCH * aloneMs));
  const ms = Math.min(MAX_DELAY_MS, Math.max(MIN_DELAY_MS, wantedMs));
  const peer = sockets?.outbound.find((one) => parsePort(one.peer) === parsePort(call.origin));
  return {
    origin: call.origin,
    ms,
    maxMs: ms + MAX_LATENESS_MS,
    perRequest,
    aloneMs,
    connections: peer?.max ?? null,
  };
}

/** Computes the time that the delays add to a request: its exchanges may run in sequence or in parallel. */
function computeAddedMs({ ms, maxMs, perRequest }: ExchangeDelay): { min: number; max: number } {
  return { min: ms * Math.min(1, perRequest), max: maxMs * Math.max(1, perRequest) };
}

/** Predicts 'dependency-delay' where requests do not queue: N / (R + delay). */
export function predictSlowedByExchanges(metrics: Metrics): Hypothesis['predictions'] {
  const delay = chooseExchangeDelay(metrics);
  if (!delay) return {};
  const { min, max } = computeAddedMs(delay);
  const { responseMs } = metrics;
  return {
    'dependency-delay': {
      low: (0.93 * responseMs) / (responseMs + max),
      high: (1.07 * responseMs) / (responseMs + min),
    },
  };
}

/**
 * Predicts 'dependency-delay' where requests queue elsewhere, or in the dependency itself: a delayed request waits less
 * in that queue. The requests in flight, and the connections, have to be enough for it.
 */
export function predictAbsorbedExchanges(metrics: Metrics): Hypothesis['predictions'] {
  const delay = chooseExchangeDelay(metrics);
  const { unloadedLatencyMs, responseMs, throughput } = metrics;
  if (!delay || unloadedLatencyMs === null) return {};
  const { maxMs, aloneMs, perRequest, connections } = delay;
  const byRequests = responseMs / (unloadedLatencyMs + computeAddedMs(delay).max);
  const byConnections =
    connections === null
      ? Number.POSITIVE_INFINITY
      : (connections * 1000) / (aloneMs + maxMs) / (perRequest * throughput);
  return {
    'dependency-delay': { low: 0.9 * Math.min(1, byRequests, byConnections), high: 1.1 },
  };
}

/**
 * Predicts 'dependency-delay' where what is scarce is held during exchanges: S / (S + delay).
 *
 * @param heldMs for how long a request holds it
 * @param minExchanges how many of its exchanges a request makes meanwhile at least; it makes all at most
 */
export function predictHeldExchanges(
  metrics: Metrics,
  heldMs: number,
  minExchanges: number,
): Hypothesis['predictions'] {
  const delay = chooseExchangeDelay(metrics);
  if (!delay) return {};
  const min = delay.ms * Math.min(minExchanges, delay.perRequest);
  return {
    'dependency-delay': {
      low: (0.9 * heldMs) / (heldMs + computeAddedMs(delay).max),
      high: (1.1 * heldMs) / (heldMs + min),
    },
  };
}
