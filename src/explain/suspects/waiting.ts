import { bytes, count, rate, share, time } from '../../report/units.js';
import { type Facts, mainDependency } from '../facts.js';
import type { OutboundView } from '../observation.js';
import type { Range } from '../result.js';
import { decodeTimes, truncatedMeanMs } from '../statistics/times.js';
import { about, type Judge, type Suspect, UNCHANGED } from '../suspect.js';
import { loopEvidence, loopLimit, SATURATED } from './load.js';

/** What every limit behind an idle loop shares: more requests only queue, work on the loop costs nothing. */
function queued(facts: Facts): Suspect['predictions'] {
  const alone = facts.singleMs ?? facts.responseMs;
  // What can be served at once: below it fewer requests mean less throughput.
  const permits = (facts.throughput * alone) / 1000;
  const half = Math.min(1, facts.slots / 2 / Math.max(permits, 0.5));
  return {
    'connections x2': { low: 0.85, high: 1.15 },
    'connections /2': { low: half * 0.85, high: 1.12 },
    'cpu injection': { low: 0.94, high: 1.04 },
  };
}

function idleLoop({ loop }: Facts): string | null {
  if (loop && loop.busy >= SATURATED) return `the event loop itself is ${share(loop.busy)} busy`;
  return null;
}

/** A thread beside the loop's that is always busy: a worker's, of which nothing more is seen. */
function busyThread({ base }: Facts): string | null {
  const others = base.outside?.processes.flatMap((process) => process.others) ?? [];
  const most = Math.max(0, ...others.map(({ run }) => run));
  return most >= SATURATED ? `a thread beside the event loop is ${share(most)} busy` : null;
}

/** A response that takes so much longer among others than alone queues for something. */
const QUEUES = 1.5;

function queues({ singleMs, responseMs }: Facts): boolean {
  return singleMs === null || responseMs > QUEUES * singleMs;
}

export const threadpool: Judge = (facts) => {
  const limit = 'threadpool';
  const { base, single } = facts;
  const delay = base.inside?.poolMs;
  if (!delay) return null;
  const before = single?.inside?.poolMs?.mean ?? 0;
  const waits = delay.mean - before;
  const size = poolSize(facts);
  const others = base.outside?.processes.flatMap((process) => process.others) ?? [];
  const pool = others.sort((a, b) => b.run - a.run).slice(0, size);
  const run = pool.reduce((sum, thread) => sum + thread.run, 0);
  const cores = base.outside?.cpu.cores ?? 1;
  // Many short jobs one after the other, as of a stream that is compressed, wait little each.
  const full = run > 0.6 * Math.min(size, cores) && waits > 1;
  if (!full && (waits < 2 || waits < 0.1 * facts.responseMs)) {
    return { limit, why: `a job of the thread pool waits ${time(Math.max(0, delay.mean))}` };
  }
  const busyLoopNow = idleLoop(facts);
  if (busyLoopNow) return { limit, why: busyLoopNow };
  const spare = (base.outside?.cpu.idle ?? 0) + run;
  const usesCpu = run > 0.3 * Math.min(size, cores);
  // Jobs that compute are bounded by cores, jobs that wait by the pool alone.
  const gain = usesCpu ? Math.max(1, Math.min(4, spare / Math.max(run, 0.1))) : 4;
  const predicted: Range = usesCpu
    ? { low: 0.85, high: Math.max(1.15, gain * 1.15) }
    : { low: 1.5, high: 4.3 };
  return {
    limit,
    weight: 0.92,
    sentence: `the thread pool: its ${size} threads are taken, a job waits ${time(delay.mean)} for one${usesCpu ? `; they compute, with ${run.toFixed(1)} cores` : '; they wait, not compute'}.`,
    arithmetic: [
      `${size} threads / ${rate(facts.throughput)} req/s = ${time((size * 1000) / facts.throughput)} of a thread per request`,
      usesCpu
        ? `they use ${run.toFixed(2)} of ${cores} cores: a bigger pool gives ${gain < 1.15 ? 'nothing, the cores are what lacks' : `x ${gain.toFixed(1)} at most`}`
        : 'a bigger pool lets more of them wait at once',
    ],
    evidence: [
      { what: 'wait for a thread of the pool', value: delay.mean, unit: 'ms', source: 'probe' },
      { what: 'cores used by the pool', value: run, unit: 'cores', source: 'proc' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: {
      ...queued(facts),
      'thread pool x4': predicted,
      'pool wait, connections x2': { low: 1.5, high: 2.8 },
    },
    remedy: {
      change:
        usesCpu && gain < 1.15
          ? 'fewer or cheaper jobs (a lower cost factor, a cache), or more cores; a bigger pool will not help'
          : `UV_THREADPOOL_SIZE=${size * 4}`,
      predictedThroughput: {
        low: facts.throughput * (usesCpu ? 0.9 : 1.5),
        high: Math.min(
          facts.throughput * gain * 1.05,
          loopLimit(facts) ?? Number.POSITIVE_INFINITY,
        ),
      },
      nextLimit: usesCpu ? null : 'event-loop-cpu',
      settings: { environment: { UV_THREADPOOL_SIZE: String(size * 4) } },
    },
  };
};

/** libuv's default size of the pool. */
const DEFAULT_POOL = 4;

/** Threads of libuv's pool, as the process was started. */
export function poolSize({ base }: Facts): number {
  return Number(base.inside?.threadPoolSize ?? DEFAULT_POOL);
}

export const outboundPool: Judge = (facts) => {
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
  // Clients that the probe does not know (databases): connections whose number stays while all else waits.
  const [peer] = [...(facts.sockets?.outbound ?? [])].sort((a, b) => b.sockets - a.sockets);
  const fixed = peer && peer.least === peer.most && peer.most >= 2 && peer.most < 0.7 * facts.slots;
  const known = base.inside?.outbound.some(({ rate }) => rate > 0.2 * throughput);
  if (!fixed || busy || !queues(facts) || known) {
    return {
      limit,
      why: call
        ? `calls wait ${time(call.waitMs ?? 0)} for a socket`
        : 'no bounded number of outbound connections was seen',
    };
  }
  const each = (peer.most * 1000) / throughput;
  return {
    limit,
    weight: 0.75,
    sentence: `a pool of ${count(peer.most)} connections to ${peer.peer}: never more, while ${count(facts.inFlight)} requests wait.`,
    arithmetic: [
      `${count(peer.most)} connections / ${rate(throughput)} req/s = ${time(each)} of a connection per request`,
    ],
    evidence: [
      { what: `connections to ${peer.peer}`, value: peer.most, unit: 'sockets', source: 'sockets' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: queued(facts),
    remedy: {
      change: `a larger pool: connections wanted = requests per second x ${time(each)}`,
      predictedThroughput: { low: throughput * 1.4, high: throughput * 2.05 },
      nextLimit: 'saturated-dependency',
    },
  };
};

function pooled(facts: Facts, call: OutboundView): Suspect {
  const answer = call.answerMs ?? 0;
  const most = call.maxSockets ?? Math.round(call.answering);
  const capacity = answer > 0 ? (most * 1000) / answer : facts.throughput;
  const perRequest = Math.max(0.01, call.rate / facts.throughput);
  const roof = loopLimit(facts) ?? Number.POSITIVE_INFINITY;
  return {
    limit: 'outbound-pool',
    weight: 0.95,
    sentence: `the pool of ${count(most)} sockets to ${call.origin}: a call waits ${time(call.waitMs ?? 0)} for a socket, and then ${time(answer)} for the answer.`,
    arithmetic: [
      `${count(most)} sockets / ${time(answer)} = ${rate(capacity)} calls a second, ${rate(capacity / perRequest)} req/s; measured ${rate(facts.throughput)}`,
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
      ...(call.maxSockets !== null && { 'sockets x2': { low: 1.5, high: 2.1 } }),
    },
    remedy: {
      change: `maxSockets: ${count(most * 2)} or more (for X req/s: X x ${time(answer * perRequest)})`,
      predictedThroughput: {
        low: Math.min(facts.throughput * 1.6, roof),
        high: Math.min(
          (2 * capacity) / perRequest,
          answer > 0 ? (facts.slots * 1000) / answer / perRequest : 2 * facts.throughput,
          roof,
        ),
      },
      nextLimit: 'saturated-dependency',
    },
  };
}

/** E[t^2] / E[t]^2 from which on a few slow answers hold most of the requests. */
const HEAVY_TAIL = 3;

export const slowDependency: Judge = (facts) => {
  const limit = 'slow-dependency';
  const busy = idleLoop(facts);
  const { latencyMs } = facts.base.load;
  const median = latencyMs.p50 ?? 0;
  const mean = latencyMs.mean ?? 0;
  const call = mainDependency(facts);
  const holds = call ? call.answering / Math.max(0.1, facts.inFlight) : 0;
  const tail = mean / Math.max(0.01, median);
  const spread = call?.answerSpread ?? 1;
  const slow = call?.answerP99Ms ?? 0;
  if (busy) return { limit, why: busy };
  if (call && holds < 0.4) {
    return { limit, why: `${share(holds)} of the requests in flight wait for ${call.origin}` };
  }
  if (tail < 1.6 && spread < HEAVY_TAIL) {
    return {
      limit,
      why: `the mean response time is ${tail.toFixed(2)} x the median: no few slow ones`,
    };
  }
  if (!call) return null;
  const usual = call.answerP50Ms ?? median;
  const deadline = facts.deadlineMs ?? usual * 3;
  const capped = truncatedMeanMs(decodeTimes(facts.base.load.histograms.latency), deadline);
  const roof = loopLimit(facts) ?? Number.POSITIVE_INFINITY;
  const then = Math.min((facts.slots * 1000) / capped, roof);
  const memory = facts.base.outside?.processes[0]?.rssMb;
  return {
    limit,
    weight: 0.93,
    sentence: `a slow dependency without a time limit: ${call.origin} answers in ${time(usual)} mostly, but ${time(slow)} at p99, and these hold most of the ${count(facts.slots)} requests.`,
    arithmetic: [
      `${count(facts.slots)} in flight / mean ${time(mean)} = ${rate((facts.slots * 1000) / mean)} req/s, measured ${rate(facts.throughput)}`,
      `with a limit of ${time(deadline)} the mean is E[min(t, ${time(deadline)})] = ${time(capped)}: ${rate(then)} req/s${then === roof ? ' (the loop is the limit then)' : ''}`,
      `at today's ${rate(facts.throughput)} req/s that is ${count((facts.throughput * capped) / 1000)} in flight instead of ${count(facts.inFlight)}${memory ? `, with their part of ${bytes(memory * 1e6)}` : ''}`,
    ],
    evidence: [
      { what: 'answer time, median', value: usual, unit: 'ms', source: 'probe' },
      { what: 'answer time, p99', value: slow, unit: 'ms', source: 'probe' },
      { what: 'mean square / square mean', value: spread, unit: 'ratio', source: 'probe' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: {
      'connections x2': { low: 1.5, high: 2.2 },
      'connections /2': { low: 0.42, high: 0.62 },
      'cpu injection': { low: 0.94, high: 1.04 },
      'client deadline': about(then / facts.throughput, 0.2),
    },
    remedy: {
      change: `a time limit of ${time(deadline)} on calls to ${call.origin} (and an answer for those that run into it)`,
      predictedThroughput: about(then, 0.15),
      nextLimit: then === roof ? 'event-loop-cpu' : 'too-few-connections',
      settings: { timeoutMs: deadline },
    },
  };
};

export const saturatedDependency: Judge = (facts) => {
  const limit = 'saturated-dependency';
  const busy = idleLoop(facts);
  if (busy) return { limit, why: busy };
  const call = mainDependency(facts);
  if (!call)
    return facts.base.inside ? { limit, why: 'no calls to other services were seen' } : null;
  const alone = facts.single?.inside?.outbound.find(({ origin }) => origin === call.origin);
  const [now, before] = [call.answerMs ?? 0, alone?.answerMs ?? 0];
  const holds = call.answering / Math.max(0.1, facts.inFlight);
  if (before === 0 || now < QUEUES * before || holds < 0.4) {
    return {
      limit,
      why: `${call.origin} answers in ${time(now)}, to a single request in ${time(before)}`,
    };
  }
  const most = (call.answering * 1000) / now;
  return {
    limit,
    weight: 0.94,
    sentence: `a saturated dependency, not this service: ${call.origin} answers ${rate(most)} calls a second at most; its answers take ${time(now)}, alone ${time(before)}.`,
    arithmetic: [
      `${call.answering.toFixed(1)} calls in flight / ${time(now)} = ${rate(most)} calls a second, with ${time(before)} each it serves ${((most * before) / 1000).toFixed(1)} at a time`,
    ],
    evidence: [
      { what: 'answer time', value: now, unit: 'ms', source: 'probe' },
      { what: 'answer time of a single call', value: before, unit: 'ms', source: 'probe' },
      { what: 'calls in flight', value: call.answering, unit: 'requests', source: 'probe' },
      ...loopEvidence(facts),
    ],
    otherwise: 'unchanged',
    predictions: { ...queued(facts), 'dependency, connections x2': { low: 1.5, high: 2.6 } },
    remedy: {
      change: `scale ${call.origin}, or call it less (cache, batch); nothing in this service's own code or settings helps`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
};

export const serialized: Judge = (facts) => {
  const limit = 'serialized';
  const { singleMs, responseMs, throughput, slots } = facts;
  // That the loop is idle is known only from inside.
  if (!singleMs || !facts.loop?.seenInside) return null;
  const busy = idleLoop(facts) ?? busyThread(facts);
  if (busy) return { limit, why: busy };
  if (!queues(facts)) {
    return {
      limit,
      why: `a request takes ${time(responseMs)}, alone ${time(singleMs)}: it does not queue`,
    };
  }
  const permits = (throughput * singleMs) / 1000;
  return {
    limit,
    // By elimination: what explains the queue by its place weighs more.
    weight: permits < 2.5 ? 0.7 : 0.55,
    sentence: `something inside admits ${permits < 1.5 ? 'one request' : `about ${permits.toFixed(1)} requests`} at a time: the loop is idle, and ${count(Math.max(0, slots - permits))} of ${count(slots)} wait.`,
    arithmetic: [
      `${rate(throughput)} req/s x ${time(singleMs)} alone = ${permits.toFixed(2)} at a time`,
      `${count(slots)} in flight / ${rate(throughput)} req/s = ${time((slots * 1000) / throughput)}, measured ${time(responseMs)}`,
    ],
    evidence: loopEvidence(facts),
    otherwise: 'unknown',
    predictions: {
      ...queued(facts),
      'thread pool x4': UNCHANGED,
    },
    remedy: {
      change:
        'search the code for what lets one in after the other: a mutex, p-limit, a queue, a transaction, a lock in the database',
      predictedThroughput: null,
      nextLimit: null,
    },
  };
};
