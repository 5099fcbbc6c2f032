import { count, plural, rate, share, time } from '../../../format/units.js';
import type { Range } from '../../../statistics/types.js';
import type { LimitId } from '../../limits/ids.js';
import { threadsBeside } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { TCP } from '../../observe/probe/view.js';
import type { OutboundView } from '../../observe/types.js';
import { loopEvidence, loopLimit } from '../event-loop/loop-capacity.js';
import { hasSlowed, idleLoop, portOf, queued, queues } from '../event-loop/queue.js';
import { about, type Detector, type Hypothesis } from '../hypothesis.js';

/** Each process has a pool of its own, and its dependency may bear as much again. */
const OWN_POOL: Range = { low: 0.95, high: 2.15 };

export const outboundPool: Detector = (facts) => {
  const limit = 'outbound-pool';
  const { base, throughput } = facts;
  const busy = idleLoop(facts);
  const call = base.inside?.outbound.reduce<OutboundView | null>(
    (most, it) => (most && most.waiting >= it.waiting ? most : it),
    null,
  );
  if (call && call.waiting > Math.max(0.5, 0.15 * facts.inFlight)) {
    if (busy) return { limit, why: busy };
    return pooled(facts, call);
  }
  if (!busy && queues(facts)) {
    const lent = lentPool(facts);
    if (lent) return lent;
  }
  // Clients that the probe does not know (databases): connections whose number stays while all else waits.
  const [peer] = [...(facts.sockets?.outbound ?? [])].sort((a, b) => b.sockets - a.sockets);
  const fixed =
    peer && peer.least === peer.most && peer.most >= 2 && peer.most < 0.7 * facts.maxConcurrency;
  const known = base.inside?.outbound.some(
    ({ origin, rate }) => !origin.startsWith(TCP) && rate > 0.2 * throughput,
  );
  if (!fixed || busy || !queues(facts) || known) {
    return {
      limit,
      why: call
        ? `calls wait ${time(call.waitMs ?? 0)} for a socket`
        : 'no bounded number of outbound connections was seen',
    };
  }
  const asked = base.inside?.outbound.find(({ origin }) => portOf(origin) === portOf(peer.peer));
  if (base.inside && !asked) {
    return { limit, why: `nothing is asked on the ${peer.most} connections to ${peer.peer}` };
  }
  const others = threadsBeside(base);
  const beside = others.reduce((sum, { run }) => sum + run, 0);
  if (!base.inside && beside > 0.5 * Math.min(4, base.outside?.cpu.cores ?? 4)) {
    return { limit, why: `threads beside the event loop use ${beside.toFixed(1)} cores` };
  }
  // One that waits for no answer may be lent nonetheless: within a transaction, or while rows come.
  if (asked && asked.answering < 0.7 * peer.most) return null;
  return connectionPool(facts, peer, asked ?? null);
};

/** How near the number of requests that are served at a time is to that of the connections. */
const AS_MANY: Range = { low: 0.75, high: 1.15 };

/**
 * A pool whose connections wait for an answer only now and then: who has one keeps it meanwhile, within a transaction or for other calls.
 * Then as many requests are served at a time as there are connections.
 */
function lentPool(facts: Metrics): Hypothesis | null {
  const { base, sockets, unloadedLatencyMs, maxConcurrency, throughput } = facts;
  if (unloadedLatencyMs === null) return null;
  const served = (throughput * unloadedLatencyMs) / 1000;
  for (const { peer, least, most } of sockets?.outbound ?? []) {
    const asked = base.inside?.outbound.find(({ origin }) => portOf(origin) === portOf(peer));
    const isFixed = least === most && most >= 2 && most < 0.7 * maxConcurrency;
    const isAsMany = served >= AS_MANY.low * most && served <= AS_MANY.high * most;
    if (!asked?.origin.startsWith(TCP) || !isFixed || !isAsMany) continue;
    // Connections that requests seldom use are not lent to them.
    if (asked.rate < 0.5 * throughput) continue;
    if (asked.answering < 0.7 * most) return lent(facts, most, asked, unloadedLatencyMs);
  }
  return null;
}

function lent(facts: Metrics, most: number, asked: OutboundView, singleMs: number): Hypothesis {
  const { throughput, inFlight } = facts;
  const each = (most * 1000) / throughput;
  const inUse = asked.answering / most;
  const larger = enlarged(facts, most);
  return {
    limit: 'outbound-pool',
    weight: 0.75,
    sentence: `a pool of ${plural(most, 'connection')} to ${asked.origin}: as many requests are served at a time, ${count(inFlight - most)} wait. Only ${share(inUse)} of the connections wait for an answer: who has one keeps it while it does something else.`,
    arithmetic: [
      `${rate(throughput)} req/s x ${time(singleMs)} alone = ${((throughput * singleMs) / 1000).toFixed(1)} at a time, with ${count(most)} connections`,
      `${count(most)} connections / ${rate(throughput)} req/s = ${time(each)} of a connection per request, of which its answers take ${time((asked.answering * 1000) / throughput)}`,
    ],
    evidence: [
      { what: `connections to ${asked.origin}`, value: most, unit: 'sockets', source: 'sockets' },
      { what: 'of them waiting for an answer', value: inUse, unit: '1', source: 'probe' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: { ...queued(facts), 'second process': OWN_POOL },
    remedy: {
      change: `give the connection back before what does not need it, or a larger pool, as ${count(larger)}; if something else admits ${count(most)} at a time (p-limit, a queue), that`,
      ...withPool(facts, (throughput * larger) / most, asked),
    },
  };
}

/** A pool of a client that the probe does not know: a fixed number of connections, all in use. */
function connectionPool(
  facts: Metrics,
  { peer, most }: { peer: string; most: number },
  asked: OutboundView | null,
): Hypothesis {
  const { throughput } = facts;
  const each = (most * 1000) / throughput;
  const inUse = asked ? Math.min(1, asked.answering / most) : null;
  return {
    limit: 'outbound-pool',
    weight: asked === null ? 0.5 : hasSlowed(facts, asked) ? 0.6 : 0.9,
    sentence: `a pool of ${plural(most, 'connection')} to ${peer}${inUse === null ? ': never more' : `, ${share(inUse)} of them waiting for an answer`}, while ${count(facts.inFlight)} requests wait.`,
    arithmetic: [
      `${count(most)} connections / ${rate(throughput)} req/s = ${time(each)} of a connection per request`,
      ...(asked?.answerMs
        ? [
            `an answer takes ${time(asked.answerMs)}, ${(asked.rate / throughput).toFixed(1)} per request`,
          ]
        : []),
    ],
    evidence: [
      { what: `connections to ${peer}`, value: most, unit: 'sockets', source: 'sockets' },
      ...(inUse === null
        ? []
        : [{ what: 'of them waiting for an answer', value: inUse, unit: '1', source: 'probe' }]),
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: { ...queued(facts), 'second process': OWN_POOL },
    remedy: {
      change: `a larger pool, as ${count(enlarged(facts, most))} (connections wanted = requests per second x ${time(each)})`,
      ...withPool(facts, (throughput * enlarged(facts, most)) / most, asked),
    },
  };
}

function pooled(facts: Metrics, call: OutboundView): Hypothesis {
  const answer = call.answerMs ?? 0;
  const most = call.maxSockets ?? Math.round(call.answering);
  const capacity = answer > 0 ? (most * 1000) / answer : facts.throughput;
  const perRequest = Math.max(0.01, call.rate / facts.throughput);
  return {
    limit: 'outbound-pool',
    weight: hasSlowed(facts, call) ? 0.6 : 0.95,
    sentence: `the pool of ${plural(most, 'socket')} to ${call.origin}: a call waits ${time(call.waitMs ?? 0)} for a socket, and then ${time(answer)} for the answer.`,
    arithmetic: [
      `${plural(most, 'socket')} / ${time(answer)} = ${rate(capacity)} calls a second, ${rate(capacity / perRequest)} req/s; measured ${rate(facts.throughput)}`,
      `${call.waiting.toFixed(1)} of ${count(facts.inFlight)} requests in flight wait for a socket`,
    ],
    evidence: [
      { what: 'wait for a socket', value: call.waitMs ?? 0, unit: 'ms', source: 'probe' },
      { what: 'answer time', value: answer, unit: 'ms', source: 'probe' },
      { what: 'sockets', value: most, unit: 'sockets', source: 'probe' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: {
      ...queued(facts),
      ...(call.maxSockets !== null && { 'sockets x2': doubled(facts.maxConcurrency / most) }),
      'second process': OWN_POOL,
    },
    remedy: {
      change: `maxSockets: ${count(enlarged(facts, most))} (for X req/s: X x ${time(answer * perRequest)})`,
      ...withPool(
        facts,
        answer > 0 ? (enlarged(facts, most) * 1000) / answer / perRequest : 2 * facts.throughput,
        call,
      ),
    },
  };
}

/** What twice as many sockets give, where the requests in flight could use `most` times as many. */
function doubled(most: number): Range {
  return { low: Math.min(1.5, Math.max(1.15, 0.9 * Math.min(2, most))), high: 2.1 };
}

/** A pool for all requests in flight, but no more than is to be foretold. */
function enlarged({ maxConcurrency }: Metrics, most: number): number {
  return Math.min(Math.max(Math.ceil(maxConcurrency), 2 * most), 4 * most);
}

/**
 * What a pool that can do so much gives, and what bounds it then: the requests in flight, the loop, or that pool again. Where answers
 * have become slower among others, what gives them.
 */
function withPool(
  facts: Metrics,
  byPool: number,
  call: OutboundView | null,
): Pick<Hypothesis['remedy'], 'predictedThroughput' | 'nextLimit'> {
  const { unloadedLatencyMs, maxConcurrency, model, overload } = facts;
  // A load by rate has as many requests in flight as there need be.
  const isBounded = unloadedLatencyMs !== null && model === 'closed' && overload === null;
  const byLoad = isBounded ? (maxConcurrency * 1000) / unloadedLatencyMs : Number.POSITIVE_INFINITY;
  const byLoop = loopLimit(facts) ?? Number.POSITIVE_INFINITY;
  const most = Math.min(byPool, byLoop, byLoad);
  const bound: LimitId =
    byLoop === most ? 'event-loop-cpu' : byLoad === most ? 'too-few-connections' : 'outbound-pool';
  return {
    predictedThroughput: about(most, 0.12),
    nextLimit: call && hasSlowed(facts, call) ? 'saturated-dependency' : bound,
  };
}
