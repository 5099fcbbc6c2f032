import { count, plural, rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { OutboundView } from '../../observe/types.js';
import { predictQueueing } from '../event-loop/queue.js';
import { ANY_RATIO, type Hypothesis, widen } from '../hypothesis.js';
import { parsePort } from './address.js';
import { predictSerializedDelay } from './calls.js';
import { predictHeldExchanges } from './exchange-delay.js';
import { buildPoolEvidence } from './pool-evidence.js';
import {
  predictDoubledPool,
  predictWithPool,
  proposeConnections,
  SECOND_POOL_GAIN,
} from './pool-prediction.js';

/** Range of the ratio of requests served at a time to connections at which the two match. */
const MATCHING_CONCURRENCY: Interval = { low: 0.75, high: 1.15 };

/**
 * Finds a pool whose connections rarely wait for a response, as requests keep them during a transaction or other calls.
 * Then as many requests are served at a time as there are connections.
 */
export function findLeasedPool(metrics: Metrics): Hypothesis | null {
  const { base, sockets, unloadedLatencyMs, maxConcurrency, throughput } = metrics;
  if (unloadedLatencyMs === null) return null;
  const served = (throughput * unloadedLatencyMs) / 1000;
  for (const { peer, min, max } of sockets?.outbound ?? []) {
    const asked = base.inside?.outbound.find(({ origin }) => parsePort(origin) === parsePort(peer));
    const isFixed = min === max && max >= 2 && max < 0.7 * maxConcurrency;
    const isAsMany =
      served >= MATCHING_CONCURRENCY.low * max && served <= MATCHING_CONCURRENCY.high * max;
    const isHeld = served < MAX_HELD_REQUESTS && (asked?.answering ?? max) < MAX_HELD_SHARE * max;
    if (!asked?.origin.startsWith(TCP_PREFIX) || !isFixed || !(isAsMany || isHeld)) continue;
    // Requests that seldom use the connections do not occupy them.
    if (asked.rate < 0.5 * throughput) continue;
    if (isHeld) return describeHeldPool(metrics, max, asked, unloadedLatencyMs);
    if (asked.answering < 0.7 * max)
      return describeLeasedPool(metrics, max, asked, unloadedLatencyMs);
  }
  return null;
}

/**
 * Maximum of the requests served at a time, and of the share of the connections in use, where requests keep connections
 * while they wait.
 */
const [MAX_HELD_REQUESTS, MAX_HELD_SHARE] = [0.5, 0.3];

/**
 * Describes a pool whose connections are idle though requests wait far longer than a single one takes: requests may keep
 * them while they wait for a second connection, a lock or a timer.
 */
function describeHeldPool(
  metrics: Metrics,
  max: number,
  { origin, answering }: OutboundView,
  singleMs: number,
): Hypothesis {
  const { throughput } = metrics;
  const heldMs = (max * 1000) / throughput;
  const larger = proposeConnections(metrics, max);
  return {
    limit: 'outbound-pool',
    weight: 0.65,
    sentence: `a pool of ${plural(max, 'connection')} to ${origin}, all of them open but ${share(1 - answering / max)} idle: requests may keep one while they wait for something else, such as a second one of the same pool, and leave none to the others; or a rate limit admits so few requests.`,
    arithmetic: [
      `${count(max)} connections / ${rate(throughput)} req/s = ${time(heldMs)} of a connection per request; a single request takes ${time(singleMs)} in all`,
    ],
    evidence: buildPoolEvidence(metrics, origin, max, answering / max),
    unlisted: 'unchanged',
    predictions: {
      ...predictLeased(metrics),
      ...predictHeldExchanges(metrics, heldMs, 0),
      // What requests wait for while they keep a connection is not known.
      'pool-x2': ANY_RATIO,
    },
    remedy: {
      change: `wait for nothing while a request keeps a connection (use the same one for all its queries), or a larger pool (${count(larger)}); if a rate limit admits the requests, raise that`,
      // It depends on what the requests wait for.
      predictedThroughput: null,
      nextLimit: 'event-loop-cpu',
    },
  };
}

function describeLeasedPool(
  metrics: Metrics,
  max: number,
  asked: OutboundView,
  singleMs: number,
): Hypothesis {
  const { throughput, inFlight } = metrics;
  const each = (max * 1000) / throughput;
  const inUse = asked.answering / max;
  const larger = proposeConnections(metrics, max);
  const byLoad = (metrics.maxConcurrency * 1000) / singleMs;
  return {
    limit: 'outbound-pool',
    weight: 0.75,
    sentence: `a pool of ${plural(max, 'connection')} to ${asked.origin}: as many requests are served at a time, and ${count(inFlight - max)} wait. Only ${share(inUse)} of the connections wait for a response: requests keep a connection while they do something else.`,
    arithmetic: [
      `${rate(throughput)} req/s x ${time(singleMs)} for a single request = ${((throughput * singleMs) / 1000).toFixed(1)} at a time, with ${count(max)} connections`,
      `${count(max)} connections / ${rate(throughput)} req/s = ${time(each)} of a connection per request, of which the responses take ${time((asked.answering * 1000) / throughput)}`,
    ],
    evidence: buildPoolEvidence(metrics, asked.origin, max, inUse),
    unlisted: 'unchanged',
    predictions: {
      ...predictLeased(metrics),
      ...predictHeldExchanges(metrics, each, 1),
      ...predictDoubledPool(metrics, max, asked),
    },
    remedy: {
      change: `release the connection before work that does not need it; if something else admits ${count(max)} requests at a time (p-limit, a queue), raise its limit`,
      ...predictWithPool(
        metrics,
        (max * throughput) / Math.max(MIN_ANSWERING, asked.answering),
        asked,
      ),
      alternatives: [
        {
          change: `a larger pool (${count(larger)})`,
          predictedThroughput: widen(Math.min((throughput * larger) / max, byLoad), 0.12),
        },
      ],
    },
  };
}

/** Minimum number of connections that wait for a response, for a prediction of how many requests they serve. */
const MIN_ANSWERING = 0.05;

/** Predicts the experiments. Calls that are delayed may be made while a connection is kept, which then serves fewer requests. */
function predictLeased(metrics: Metrics): Hypothesis['predictions'] {
  return {
    ...predictQueueing(metrics),
    ...predictSerializedDelay(metrics),
    'second-process': SECOND_POOL_GAIN,
  };
}
