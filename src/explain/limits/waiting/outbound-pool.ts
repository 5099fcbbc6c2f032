import { count, plural, rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { buildLoopEvidence } from '../../hypotheses/event-loop/loop-capacity.js';
import {
  describeBusyLoop,
  hasQueue,
  isSlowerUnderLoad,
  predictQueueing,
} from '../../hypotheses/event-loop/queue.js';
import type { Detected, Hypothesis } from '../../hypotheses/hypothesis.js';
import { parsePort } from '../../hypotheses/outbound/address.js';
import {
  predictPerhapsWithoutCalls,
  predictWithoutCalls,
} from '../../hypotheses/outbound/calls-from-memory.js';
import { predictHeldExchanges } from '../../hypotheses/outbound/exchange-delay.js';
import { findLeasedPool } from '../../hypotheses/outbound/leased-pool.js';
import { buildPoolEvidence } from '../../hypotheses/outbound/pool-evidence.js';
import {
  predictDoubledPool,
  predictWithPool,
  proposeConnections,
  SECOND_POOL_GAIN,
} from '../../hypotheses/outbound/pool-prediction.js';
import { describeSaturatedProgram } from '../../hypotheses/outbound/saturated-program.js';
import { listOtherThreads } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { OutboundView } from '../../observe/types.js';
import type { Limit } from '../limit.js';

export const OUTBOUND_POOL = {
  id: 'outbound-pool',
  group: 'waiting inside',
  text: {
    title: 'Too few connections to another service',
    what: 'Calls to a service or database share a bounded pool of connections and wait for a free one.',
    shows:
      'The loop is idle, and calls wait for a connection; or, for a client that the probe does not know, the number of connections to a peer stays the same while requests queue.',
    experiment:
      "'max sockets x2' doubles maxSockets of agents and the connections of undici pools: throughput rises, up to x 2. A 'second process' has a pool of its own. With --allow-dependency-experiments 'database pool x2' does the same for pg, mysql2, mongodb, knex, sequelize and generic-pool, and with 'dependency delayed' throughput falls as S / (S + delay), with S for how long a request keeps a connection.",
    formula: 'maximum = connections / response time of the service',
    remedy:
      'A larger pool: connections = requests per second needed x response time of the service.',
    confirm:
      'double the pool: throughput rises up to twice, and the response time stays that of one call',
    detected: 'by experiment',
    note: 'Pools other than agents of node:http and undici (databases) are detected by the constant number of their connections, all of which wait for a response.',
  },
  detectors: [detectOutboundPool],
} satisfies Limit;

function detectOutboundPool(metrics: Metrics): Detected {
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
  // Requests may keep such connections during their other calls.
  if (fixed && !busy && hasQueue(metrics) && known) return null;
  if (!fixed || busy || !hasQueue(metrics)) {
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
}

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
    evidence: buildPoolEvidence(metrics, peer, max, inUse),
    unlisted: 'unchanged',
    predictions: {
      ...predictQueueing(metrics),
      ...predictHeldExchanges(metrics, each, 1),
      // They may be made while a connection is kept.
      ...predictPerhapsWithoutCalls(metrics),
      ...predictDoubledPool(metrics, max, asked),
      'second-process': SECOND_POOL_GAIN,
    },
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
      ...predictWithoutCalls(metrics),
      ...(call.maxSockets !== null && {
        'max-sockets-x2': predictDoubled(metrics.maxConcurrency / max),
      }),
      'second-process': SECOND_POOL_GAIN,
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
function predictDoubled(maxGain: number): Interval {
  return { low: Math.min(1.5, Math.max(1.15, 0.9 * Math.min(2, maxGain))), high: 2.1 };
}
