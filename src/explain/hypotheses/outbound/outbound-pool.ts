import { count, plural, rate, share, time } from '../../../format/units.js';
import type { Range } from '../../../statistics/types.js';
import type { LimitId } from '../../limits/ids.js';
import { listOtherThreads } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { OutboundView } from '../../observe/types.js';
import { buildLoopEvidence, deriveLoopLimit } from '../event-loop/loop-capacity.js';
import {
  describeBusyLoop,
  hasQueue,
  isSlowerUnderLoad,
  parsePort,
  predictQueueing,
} from '../event-loop/queue.js';
import { type Detector, type Hypothesis, widen } from '../hypothesis.js';
import { describeSaturatedProgram } from './saturated-program.js';

/** Gain of a second process, which has its own pool: the dependency may serve twice as much. */
const SECOND_POOL_GAIN: Range = { low: 0.95, high: 2.15 };

export const detectOutboundPool: Detector = (metrics) => {
  const limit = 'outbound-pool';
  const { base, throughput } = metrics;
  // Where the program has no CPU time left, more calls at a time only wait for it.
  const busy = describeBusyLoop(metrics) ?? describeSaturatedProgram(metrics);
  const call = base.inside?.outbound.reduce<OutboundView | null>(
    (most, it) => (most && most.waiting >= it.waiting ? most : it),
    null,
  );
  if (call && call.waiting > Math.max(0.5, 0.15 * metrics.inFlight)) {
    if (busy) return { limit, why: busy };
    return describeSocketPool(metrics, call);
  }
  if (!busy && hasQueue(metrics)) {
    const leased = findLeasedPool(metrics);
    if (leased) return leased;
  }
  // Clients that the probe does not know (databases): a fixed number of connections while requests wait.
  const [peer] = [...(metrics.sockets?.outbound ?? [])].sort((a, b) => b.sockets - a.sockets);
  const fixed =
    peer && peer.min === peer.max && peer.max >= 2 && peer.max < 0.7 * metrics.maxConcurrency;
  const known = base.inside?.outbound.some(
    ({ origin, rate }) => !origin.startsWith(TCP_PREFIX) && rate > 0.2 * throughput,
  );
  if (!fixed || busy || !hasQueue(metrics) || known) {
    return {
      limit,
      why: call
        ? `calls wait ${time(call.waitMs ?? 0)} for a connection`
        : 'no bounded pool of outbound connections was seen',
    };
  }
  const asked = base.inside?.outbound.find(
    ({ origin }) => parsePort(origin) === parsePort(peer.peer),
  );
  if (base.inside && !asked) {
    return { limit, why: `the ${peer.max} connections to ${peer.peer} are idle` };
  }
  const others = listOtherThreads(base);
  const otherCores = others.reduce((sum, { run }) => sum + run, 0);
  if (!base.inside && otherCores > 0.5 * Math.min(4, base.outside?.cpu.cores ?? 4)) {
    return { limit, why: `threads other than the event loop's use ${otherCores.toFixed(1)} cores` };
  }
  // A connection that waits for no response may be in use nonetheless: in a transaction, or while rows arrive.
  if (asked && asked.answering < 0.7 * peer.max) return null;
  return describeConnectionPool(metrics, peer, asked ?? null);
};

/** Range of the ratio of requests served at a time to connections at which the two match. */
const MATCHING_CONCURRENCY: Range = { low: 0.75, high: 1.15 };

/**
 * Finds a pool whose connections rarely wait for a response, as requests keep them during a transaction or other calls.
 * Then as many requests are served at a time as there are connections.
 */
function findLeasedPool(metrics: Metrics): Hypothesis | null {
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
    sentence: `a pool of ${plural(max, 'connection')} to ${origin}, all of them open but ${share(1 - answering / max)} idle: requests may keep one while they wait for something else, such as a second one of the same pool, and leave none to the others.`,
    arithmetic: [
      `${count(max)} connections / ${rate(throughput)} req/s = ${time(heldMs)} of a connection per request; a single request takes ${time(singleMs)} in all`,
    ],
    evidence: [
      { what: `connections to ${origin}`, value: max, unit: 'sockets', source: 'sockets' },
      {
        what: 'connections waiting for a response',
        value: answering / max,
        unit: '1',
        source: 'probe',
      },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: { ...predictQueueing(metrics), 'second process': SECOND_POOL_GAIN },
    remedy: {
      change: `wait for nothing while a request keeps a connection (use the same one for all its queries), or a larger pool (${count(larger)})`,
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
    evidence: [
      { what: `connections to ${asked.origin}`, value: max, unit: 'sockets', source: 'sockets' },
      { what: 'connections waiting for a response', value: inUse, unit: '1', source: 'probe' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: { ...predictQueueing(metrics), 'second process': SECOND_POOL_GAIN },
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

/** Describes the pool of a client that the probe does not know: a fixed number of connections, all in use. */
function describeConnectionPool(
  metrics: Metrics,
  { peer, max }: { peer: string; max: number },
  asked: OutboundView | null,
): Hypothesis {
  const { throughput } = metrics;
  const each = (max * 1000) / throughput;
  const inUse = asked ? Math.min(1, asked.answering / max) : null;
  return {
    limit: 'outbound-pool',
    weight: asked === null ? 0.5 : isSlowerUnderLoad(metrics, asked) ? 0.6 : 0.9,
    sentence: `a pool of ${plural(max, 'connection')} to ${peer}${inUse === null ? ', which never grows' : `, ${share(inUse)} of them waiting for a response`}, while ${count(metrics.inFlight)} requests wait.`,
    arithmetic: [
      `${count(max)} connections / ${rate(throughput)} req/s = ${time(each)} of a connection per request`,
      ...(asked?.answerMs
        ? [
            `a response takes ${time(asked.answerMs)}, ${(asked.rate / throughput).toFixed(1)} per request`,
          ]
        : []),
    ],
    evidence: [
      { what: `connections to ${peer}`, value: max, unit: 'sockets', source: 'sockets' },
      ...(inUse === null
        ? []
        : [
            {
              what: 'connections waiting for a response',
              value: inUse,
              unit: '1',
              source: 'probe',
            },
          ]),
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: { ...predictQueueing(metrics), 'second process': SECOND_POOL_GAIN },
    remedy: {
      change: `a larger pool, such as ${count(proposeConnections(metrics, max))} (connections needed = requests per second x ${time(each)})`,
      ...predictWithPool(metrics, (throughput * proposeConnections(metrics, max)) / max, asked),
    },
  };
}

function describeSocketPool(metrics: Metrics, call: OutboundView): Hypothesis {
  const answer = call.answerMs ?? 0;
  const max = call.maxSockets ?? Math.round(call.answering);
  const capacity = answer > 0 ? (max * 1000) / answer : metrics.throughput;
  const perRequest = Math.max(0.01, call.rate / metrics.throughput);
  return {
    limit: 'outbound-pool',
    weight: isSlowerUnderLoad(metrics, call) ? 0.6 : 0.95,
    sentence: `the pool of ${plural(max, 'connection')} to ${call.origin}: a call waits ${time(call.waitMs ?? 0)} for a connection, then ${time(answer)} for the response.`,
    arithmetic: [
      `${plural(max, 'connection')} / ${time(answer)} = ${rate(capacity)} calls per second, ${rate(capacity / perRequest)} req/s; measured ${rate(metrics.throughput)}`,
      `${call.waiting.toFixed(1)} of ${count(metrics.inFlight)} requests in flight wait for a connection`,
    ],
    evidence: [
      { what: 'wait for a connection', value: call.waitMs ?? 0, unit: 'ms', source: 'probe' },
      { what: 'response time of calls', value: answer, unit: 'ms', source: 'probe' },
      { what: 'sockets', value: max, unit: 'sockets', source: 'probe' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictQueueing(metrics),
      ...(call.maxSockets !== null && {
        'sockets x2': predictDoubled(metrics.maxConcurrency / max),
      }),
      'second process': SECOND_POOL_GAIN,
    },
    remedy: {
      change: `maxSockets: ${count(proposeConnections(metrics, max))} (for X req/s: X x ${time(answer * perRequest)})`,
      ...predictWithPool(
        metrics,
        answer > 0
          ? (proposeConnections(metrics, max) * 1000) / answer / perRequest
          : 2 * metrics.throughput,
        call,
      ),
    },
  };
}

/** Predicts the gain of twice as many sockets, where the requests in flight could use `maxGain` times as many. */
function predictDoubled(maxGain: number): Range {
  return { low: Math.min(1.5, Math.max(1.15, 0.9 * Math.min(2, maxGain))), high: 2.1 };
}

/**
 * Proposes a pool for all requests in flight, of at most four times the present size, as predictions reach no further.
 */
function proposeConnections({ maxConcurrency }: Metrics, max: number): number {
  return Math.min(Math.max(Math.ceil(maxConcurrency), 2 * max), 4 * max);
}

/**
 * Predicts throughput with a pool of the given capacity, and the next limit: the requests in flight, the loop, that
 * pool again, or the dependency where it responds slower under load already.
 */
function predictWithPool(
  metrics: Metrics,
  byPool: number,
  call: OutboundView | null,
): Pick<Hypothesis['remedy'], 'predictedThroughput' | 'nextLimit'> {
  const { unloadedLatencyMs, maxConcurrency, model, overload } = metrics;
  // A load with a rate has as many requests in flight as it takes.
  const isBounded = unloadedLatencyMs !== null && model === 'closed' && overload === null;
  const byLoad = isBounded ? (maxConcurrency * 1000) / unloadedLatencyMs : Number.POSITIVE_INFINITY;
  const byLoop = deriveLoopLimit(metrics) ?? Number.POSITIVE_INFINITY;
  const maxThroughput = Math.min(byPool, byLoop, byLoad);
  const bound: LimitId =
    byLoop === maxThroughput
      ? 'event-loop-cpu'
      : byLoad === maxThroughput
        ? 'too-few-connections'
        : 'outbound-pool';
  return {
    predictedThroughput: widen(maxThroughput, 0.12),
    nextLimit: call && isSlowerUnderLoad(metrics, call) ? 'saturated-dependency' : bound,
  };
}
