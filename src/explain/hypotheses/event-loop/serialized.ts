import { count, rate, share, time } from '../../../format/units.js';
import { isMonitoringCall } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import { TCP_PREFIX } from '../../observe/probe/view.js';
import type { Detector } from '../hypothesis.js';
import { predictSerializedDelay } from '../outbound/calls.js';
import { findCommonDependency } from '../outbound/dependency.js';
import { buildLoopEvidence } from './loop-capacity.js';
import {
  describeBusyCores,
  describeBusyLoop,
  describeBusyThread,
  findBusyThreads,
  hasQueue,
  parsePort,
  predictQueueing,
} from './queue.js';

/** Requests that are served at a time, as a multiple of the busy threads, up to which each of these has one. */
const MAX_REQUESTS_PER_THREAD = 1.4;

/** Part of the time for which a connection waits for an answer, from which on nobody else could ask much on it. */
const MIN_WAITING_SHARE = 0.8;

/** A single connection to another service on which there is always a question: nothing there tells why there is one at a time. */
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
  return `the one connection to ${origin} waits for an answer ${share(Math.min(1, answering))} of the time${each}: a pool of several, if that is where they queue; else `;
}

export const detectSerialized: Detector = (metrics) => {
  const limit = 'serialized';
  const { unloadedLatencyMs, responseMs, throughput, maxConcurrency } = metrics;
  // That the loop is idle is known only from inside.
  if (!unloadedLatencyMs || !metrics.loop?.isFromProbe) return null;
  const permits = (throughput * unloadedLatencyMs) / 1000;
  const threads = findBusyThreads(metrics).length;
  const atThreads = threads > 0 && permits < MAX_REQUESTS_PER_THREAD * threads;
  const busy =
    describeBusyLoop(metrics) ??
    (atThreads ? null : describeBusyThread(metrics)) ??
    describeBusyCores(metrics);
  if (busy) return { limit, why: busy };
  if (!hasQueue(metrics)) {
    return {
      limit,
      why: `a request takes ${time(responseMs)}, alone ${time(unloadedLatencyMs)}: it does not queue`,
    };
  }
  const asked = findCommonDependency(metrics);
  if (asked) {
    const why = `${asked.answering.toFixed(1)} of ${count(metrics.inFlight)} requests in flight have asked ${asked.origin}`;
    return { limit, why: `${why}: they queue there` };
  }
  return {
    limit,
    // By elimination: what explains the queue by its place weighs more.
    weight: permits < 2.5 ? 0.7 : 0.55,
    sentence: atThreads
      ? `${describeBusyThread(metrics)}: requests go through ${threads === 1 ? 'it one after the other' : `${threads} such threads`} while the loop is idle, and ${count(Math.max(0, maxConcurrency - permits))} of ${count(maxConcurrency)} wait.`
      : `something admits ${permits < 1.5 ? 'one request' : `about ${permits.toFixed(1)} requests`} at a time, in the service or behind it: the loop is idle, and ${count(Math.max(0, maxConcurrency - permits))} of ${count(maxConcurrency)} wait.`,
    arithmetic: [
      `${rate(throughput)} req/s x ${time(unloadedLatencyMs)} alone = ${permits.toFixed(2)} at a time`,
      `${count(maxConcurrency)} in flight / ${rate(throughput)} req/s = ${time((maxConcurrency * 1000) / throughput)}, measured ${time(metrics.latencyMs)}`,
    ],
    evidence: buildLoopEvidence(metrics),
    unlisted: 'unchanged',
    predictions: {
      ...predictQueueing(metrics),
      ...predictSerializedDelay(metrics),
      // Twice as much if it is inside the process, the same if it is behind it.
      'second process': { low: 0.85, high: 2.15 },
    },
    remedy: {
      change: atThreads
        ? 'more such threads, as far as there are cores (a pool of worker threads), or less work in each: a profile tells what it is (node --cpu-prof of worker threads, else perf)'
        : `${describeOnlyConnection(metrics)}search the code for what lets one in after the other: a mutex, p-limit, a queue, a transaction, a lock in the database`,
      predictedThroughput: null,
      nextLimit: null,
    },
  };
};
