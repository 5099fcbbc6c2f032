import { count, plural, rate, share, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import { buildLoopEvidence, SATURATED } from '../../hypotheses/event-loop/loop-capacity.js';
import {
  describeBusyCores,
  describeBusyLoop,
  describeBusyThread,
  describeTakenCores,
  findBusyThreads,
  hasQueue,
  predictQueueing,
} from '../../hypotheses/event-loop/queue.js';
import type { Detected } from '../../hypotheses/hypothesis.js';
import { isNamedPoolThread } from '../../hypotheses/machine/pool-size.js';
import { parsePort } from '../../hypotheses/outbound/address.js';
import { predictAdmittedCalls } from '../../hypotheses/outbound/admitted-calls.js';
import { predictSerializedDelay } from '../../hypotheses/outbound/calls.js';
import { findLockingDependency } from '../../hypotheses/outbound/dependency-lock.js';
import { describeSaturatedProgram } from '../../hypotheses/outbound/saturated-program.js';
import { findWorkingProcesses, isMonitoringCall, listOtherThreads } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { Limit } from '../limit.js';
import { findCommonDependency } from './saturated-dependency.js';

export const SERIALIZED = {
  id: 'serialized',
  group: 'waiting inside',
  text: {
    title: 'Requests are serialized',
    what: 'Something admits requests one at a time, or a few at a time: a mutex, p-limit, a queue, a lock in a database, a worker thread that computes. A throttle, which delays requests to a rate, looks the same.',
    shows:
      "The loop is idle, the server's threads leave cores idle, throughput times the response time alone is about one (or one per thread other than the loop's that is always busy), and no pool or service explains the queue.",
    experiment:
      "None of its own: 'connections x2', 'thread pool x4' and 'max sockets x2' change nothing. With a 'second process' throughput doubles if the limit is inside the process, and stays the same if it is outside. Where a single request mostly waits for its calls, 'dependency delayed' and 'calls from memory' (--allow-dependency-experiments) show whether requests are admitted one at a time to them.",
    formula: 'requests admitted at a time = throughput x response time alone',
    remedy: 'Search the code for what admits one request at a time.',
    confirm:
      'let what may admit so few requests at a time (a limiter, a queue, a mutex) admit twice as many: throughput doubles, and only there',
    detected: 'by its signature',
    note: 'Found by elimination: explain measures how many requests are admitted at a time, not what admits them. A throttle admits the next request after a fixed time, so a single client waits for it too.',
  },
  detectors: [detectSerialized],
} satisfies Limit;

/** Maximum of the requests served at a time, per busy thread, at which each thread serves one. */
const MAX_REQUESTS_PER_THREAD = 1.4;

/** Minimum of the requests served at a time that are many: what admits them is not likely a lock. */
const MANY_PERMITS = 2.5; // Source: bench sensor-bridge: 15 at a time are no lock; the bound is judgment

/** Maximum of the requests served at a time where they wait for a time to pass, not for others to be served. */
const MAX_IDLE_PERMITS = 0.5;

/** Range of a thread's CPU time per request under load, relative to that of a single request, if it serves requests. */
const SAME_COST: Interval = { low: 0.6, high: 1.5 };

/** Maximum share of a core that a thread uses without load if it works for requests alone. */
const MAX_IDLE_THREAD_SHARE = 0.2;

/**
 * Whether the busy threads work for requests: each takes as much CPU time per request as under a single one, where it is
 * not always busy, or at least not without load.
 */
function doBusyThreadsServe(metrics: Metrics): boolean {
  const { single, throughput, idleThreadShare } = metrics;
  if (!single || single.throughput === 0) return false;
  const before = new Map(listOtherThreads(single).map(({ tid, run }) => [tid, run]));
  return findBusyThreads(metrics).every(({ tid, run }) => {
    const aloneRun = before.get(tid) ?? 0;
    const ratio = run / throughput / Math.max(1e-9, aloneRun / single.throughput);
    const isIdleBefore = aloneRun < SATURATED || (idleThreadShare ?? 1) <= MAX_IDLE_THREAD_SHARE;
    return isIdleBefore && SAME_COST.low <= ratio && ratio <= SAME_COST.high;
  });
}

/** Minimum share of the time for which a connection waits for a response, so that it is nearly always in use. */
const MIN_WAITING_SHARE = 0.8;

/**
 * Describes the only connection to another service, if it is nearly always in use: it may be what requests queue for.
 */
function describeOnlyConnection({ base, sockets }: Metrics): string {
  const { inside } = base;
  const asked = inside?.outbound.find((call) => {
    const { origin, answering } = call;
    const peers =
      sockets?.outbound.filter((one) => parsePort(one.peer) === parsePort(origin)) ?? [];
    const isOnly = peers.length === 1 && peers[0]?.max === 1 && answering < 1.05;
    return (
      origin.startsWith(TCP_PREFIX) &&
      isOnly &&
      answering >= MIN_WAITING_SHARE &&
      !isMonitoringCall(call, inside.finished)
    );
  });
  if (!asked) return '';
  const { origin, answering, answerMs } = asked;
  const each = answerMs === null ? '' : `, ${time(answerMs)} each`;
  return `the only connection to ${origin} waits for a response ${share(Math.min(1, answering))} of the time${each}: use a pool of several if requests queue for it; otherwise `;
}

function detectSerialized(metrics: Metrics): Detected {
  const limit = 'serialized';
  const { unloadedLatencyMs, responseMs, throughput, maxConcurrency } = metrics;
  // Only the probe knows that the loop is idle.
  if (!unloadedLatencyMs || !metrics.loop?.isFromProbe) return null;
  const permits = (throughput * unloadedLatencyMs) / 1000;
  const threads = findBusyThreads(metrics).length;
  const atThreads =
    threads > 0 && (permits < MAX_REQUESTS_PER_THREAD * threads || doBusyThreadsServe(metrics));
  const busy =
    describeBusyLoop(metrics) ??
    (atThreads ? null : describeBusyThread(metrics)) ??
    describeBusyCores(metrics) ??
    describeSaturatedProgram(metrics) ??
    describeTakenCores(metrics);
  if (busy) return { limit, why: busy };
  if (!hasQueue(metrics)) {
    return {
      limit,
      why: `a request takes ${time(responseMs)}, ${time(unloadedLatencyMs)} alone: it does not queue`,
    };
  }
  const pooled = findBusyThreads(metrics).find(isNamedPoolThread);
  if (pooled) {
    return {
      limit,
      why: `a thread of the thread pool is ${share(pooled.run)} busy: jobs queue for it`,
    };
  }
  const asked = findCommonDependency(metrics);
  if (asked) {
    const why = `${asked.answering.toFixed(1)} of ${count(metrics.inFlight)} requests in flight wait for ${asked.origin}`;
    return { limit, why: `${why}: they queue there` };
  }
  const { change, ...admission } = describeAdmission(metrics, permits, atThreads);
  const unclear = admission.isLocated ? null : describeUnclear(metrics, permits);
  if (unclear) return { limit, why: unclear };
  return {
    limit,
    ...admission,
    arithmetic: [
      `${rate(throughput)} req/s x ${time(unloadedLatencyMs)} for a single request = ${permits.toFixed(2)} at a time`,
      `${count(maxConcurrency)} in flight / ${rate(throughput)} req/s = ${time((maxConcurrency * 1000) / throughput)}, measured ${time(metrics.latencyMs)}`,
    ],
    evidence: buildLoopEvidence(metrics),
    unlisted: 'unchanged',
    predictions: {
      ...predictQueueing(metrics),
      // That some of the requests are admitted is a guess from what is left: more connections must not help.
      ...(permits >= MANY_PERMITS && { 'connections-x2': { low: 0.85, high: 1.1 } }),
      ...predictSerializedDelay(metrics),
      ...(!atThreads && permits >= MAX_IDLE_PERMITS && predictAdmittedCalls(metrics)),
      // Twice as much if the limit is inside the process, the same if it is behind it.
      'second-process': { low: 0.85, high: 2.15 },
    },
    remedy: { change, predictedThroughput: null, nextLimit: null },
  };
}

/** Requests in flight per connection from which on they wait for each other's responses in HTTP/1.1. */
const MIN_SHARING = 2;

/** Describes why a watch cannot tell whether requests are admitted a few at a time, as it makes no experiment; otherwise `null`. */
function describeUnclear({ isWatched, base, inFlight }: Metrics, permits: number): string | null {
  if (!isWatched) return null;
  if (permits >= MANY_PERMITS) {
    return `about ${permits.toFixed(1)} requests are served at a time: whether more of them would be is not known`;
  }
  const { connections } = base.load.plan;
  return inFlight >= MIN_SHARING * Math.max(1, connections)
    ? `${count(inFlight)} requests share ${plural(connections, 'connection')}, and may wait for each other's responses`
    : null;
}

/** What admits the requests, as far as it is known. */
interface Admission {
  weight: number;
  sentence: string;
  change: string;
  /** Set if the place where requests queue was measured. */
  isLocated?: true;
}

/** Describes what admits the requests: found by elimination, a limit that locates the queue has more weight. */
function describeAdmission(metrics: Metrics, permits: number, atThreads: boolean): Admission {
  if (atThreads) return describeThreads(metrics, permits);
  if (permits < MAX_IDLE_PERMITS) return describeIdleWait(metrics);
  const { maxConcurrency } = metrics;
  const weight = permits < MANY_PERMITS ? 0.7 : 0.55;
  const few = permits < 1.5 ? 'one request' : `about ${permits.toFixed(1)} requests`;
  const admitted = `${few} at a time. The loop is idle, and ${count(Math.max(0, maxConcurrency - permits))} of ${count(maxConcurrency)} requests wait.`;
  const locking = findLockingDependency(metrics)?.call.origin;
  if (locking) {
    return {
      weight,
      isLocated: true,
      sentence: `requests are serialized: probably a lock at ${locking} (a row, a table), which a request keeps while it does other things, admits ${admitted}`,
      change: `release the lock earlier: what is locked at ${locking} (a row, a table) is locked last, and nothing else is awaited before the transaction ends`,
    };
  }
  return {
    weight,
    sentence: `requests are serialized: something ${describePlace(metrics, permits)} admits ${admitted}`,
    change: `${describeOnlyConnection(metrics)}search the code for what admits ${few} at a time: a mutex, p-limit, a queue, a transaction, a lock in the database${permits < MAX_SINGLE_PERMITS ? `; or for what delays requests to ${rate(metrics.throughput)} req/s (a throttle), which looks the same` : ''}`,
  };
}

/** Maximum of the requests served at a time at which it is a single one in all processes. */
const MAX_SINGLE_PERMITS = 1.2;

/** Describes where requests queue. Several processes would serve several requests if each had its own queue. */
function describePlace({ base }: Metrics, permits: number): string {
  const processes = findWorkingProcesses(base).length;
  return permits < MAX_SINGLE_PERMITS && processes > 1
    ? `that the ${processes} processes probably share (their parent, a database, a file)`
    : 'in the service or behind it';
}

function describeThreads(metrics: Metrics, permits: number): Admission {
  const { maxConcurrency } = metrics;
  const others = findBusyThreads(metrics).length - 1;
  const served =
    others === 0
      ? 'one at a time'
      : `with ${others} other such ${others === 1 ? 'thread' : 'threads'}`;
  return {
    weight: permits < MANY_PERMITS ? 0.7 : 0.55,
    isLocated: true,
    sentence: `${describeBusyThread(metrics)}: it serves requests ${served} while the loop is idle, and ${count(Math.max(0, maxConcurrency - permits))} of ${count(maxConcurrency)} requests wait.`,
    change:
      'more such threads, as far as there are cores (a pool of worker threads), or less work in each: a profile shows what they do (node --cpu-prof for worker threads, else perf)',
  };
}

function describeIdleWait({ throughput, unloadedLatencyMs }: Metrics): Admission {
  return {
    weight: 0.6,
    sentence: `requests wait while nothing that is observed is busy: ${rate(throughput)} req/s are answered, though a single request takes ${time(unloadedLatencyMs ?? 0)}. They wait for a rate limit, a timer, a lock that is tried again after a pause, for each other, or for something that is not observed (a Unix socket).`,
    change:
      'search the code for what lets requests wait without work: a rate limiter, a timer, a lock with retries, a pool whose users wait for a second connection of it',
  };
}
