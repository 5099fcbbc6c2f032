import { count, plural, rate, time } from '../../../format/units.js';
import type { Range } from '../../../statistics/types.js';
import { findWorkingProcesses, listOtherThreads } from '../../metrics/derive.js';
import type { Metrics } from '../../metrics/types.js';
import type { Observation } from '../../observe/types.js';
import { buildLoopEvidence, deriveLoopLimit, SATURATED } from '../event-loop/loop-capacity.js';
import { describeBusyLoop, predictQueueing } from '../event-loop/queue.js';
import { type Detector, widen } from '../hypothesis.js';

export const detectThreadpool: Detector = (metrics) => {
  const limit = 'threadpool';
  const { base, single } = metrics;
  const delay = base.inside?.poolMs;
  if (!delay) return null;
  const before = single?.inside?.poolMs?.mean ?? 0;
  const waits = delay.mean - before;
  const size = readPoolSize(metrics);
  const others = listOtherThreads(base);
  const threads = countPoolThreads(base, size);
  const pool = others.sort((a, b) => b.run - a.run).slice(0, threads);
  const run = pool.reduce((sum, thread) => sum + thread.run, 0);
  const cores = base.outside?.cpu.cores ?? 1;
  // Many short jobs one after the other, as of a stream that is compressed, wait little each.
  const full = run > 0.6 * Math.min(threads, cores) && waits > 1;
  const busyThreads = pool.filter((thread) => thread.run > 0.5 * (pool[0]?.run ?? 0));
  // Of a pool all of whose other threads wait in some call, one may compute: then its jobs wait for that one.
  const isQueue = waits > MIN_QUEUE_SHARE * metrics.responseMs;
  const isFew = busyThreads.length < Math.min(threads, pool.length);
  if (!isQueue && isFew && (pool[0]?.run ?? 0) >= SATURATED) {
    return {
      limit,
      why: `${plural(busyThreads.length, 'thread')} beside the event loop always busy: fewer than the pool has`,
    };
  }
  if (!full && (waits < 2 || waits < 0.1 * metrics.responseMs)) {
    return { limit, why: `a job of the thread pool waits ${time(Math.max(0, delay.mean))}` };
  }
  const loopIsBusy = describeBusyLoop(metrics);
  if (loopIsBusy) return { limit, why: loopIsBusy };
  const spare = (base.outside?.cpu.idle ?? 0) + run;
  const usesCpu = run > 0.3 * Math.min(threads, cores);
  // Jobs that compute are bounded by cores, jobs that wait by the pool alone.
  const gain = usesCpu ? Math.max(1, Math.min(4, spare / Math.max(run, 0.1))) : 4;
  const predicted: Range = usesCpu
    ? { low: 0.85, high: Math.max(1.15, gain * 1.15) }
    : {
        low: Math.min(1.5, predictMoreThreads(metrics, size, null).low / metrics.throughput),
        high: 4.3,
      };
  return {
    limit,
    weight: 0.92,
    sentence: `the thread pool: ${threads === 1 ? 'its one thread is' : `its ${count(threads)} threads are`} taken, a job waits ${time(delay.mean)} for one; ${describeThreads(usesCpu ? run : 0, isFew ? busyThreads.length : null)}.`,
    arithmetic: [
      `${plural(threads, 'thread')} / ${rate(metrics.throughput)} req/s = ${time((threads * 1000) / metrics.throughput)} of a thread per request`,
      usesCpu
        ? `they use ${run.toFixed(2)} of ${cores} cores: a bigger pool gives ${gain < 1.15 ? 'nothing, the cores are what lacks' : `x ${gain.toFixed(1)} at most`}`
        : 'a bigger pool lets more of them wait at once',
    ],
    evidence: [
      { what: 'wait for a thread of the pool', value: delay.mean, unit: 'ms', source: 'probe' },
      { what: 'cores used by the pool', value: run, unit: 'cores', source: 'proc' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictQueueing(metrics),
      // What is compressed may be all that the threads do, or none of it.
      ...(usesCpu && { 'identity encoding': { low: 0.85, high: UNBOUNDED_GAIN } }),
      'thread pool x4': predicted,
      'second process': { low: 0.85, high: usesCpu ? Math.max(1.15, gain * 1.15) : 2.15 },
      'pool wait, connections x2': predictLongerWait(metrics, size),
    },
    remedy: {
      change:
        usesCpu && gain < 1.15
          ? 'fewer or cheaper jobs (a lower cost factor, a cache), or more cores; a bigger pool will not help'
          : `UV_THREADPOOL_SIZE=${proposePoolSize(metrics)}`,
      // What cheaper jobs give depends on how cheap they are.
      predictedThroughput:
        usesCpu && gain < 1.15 ? null : predictMoreThreads(metrics, size, usesCpu ? gain : null),
      nextLimit: usesCpu ? null : 'event-loop-cpu',
      settings: { environment: { UV_THREADPOOL_SIZE: String(proposePoolSize(metrics)) } },
    },
  };
};

/** Without what they compute the threads are no limit: what is one then is not known. */
export const UNBOUNDED_GAIN = 1000;

/** What the threads do, `few` of them alone if it is not all. */
function describeThreads(cores: number, few: number | null): string {
  if (cores === 0) return 'they wait, not compute';
  const who =
    few === null ? 'they compute' : `only ${few} of them ${few === 1 ? 'computes' : 'compute'}`;
  return `${who}, with ${cores.toFixed(1)} cores`;
}

/** Part of a response's time that a job waits for a thread, from which on the pool is what it waits for. */
const MIN_QUEUE_SHARE = 0.5;

/** Requests that are not at the pool just now, at most: they are with the loop, which is idle for the most part. */
const REQUESTS_OUTSIDE_POOL = 1;

/**
 * How many times as long a job waits when as many requests come on top as there are. All of these wait in the queue too, as the threads are taken:
 * (L + N) / L, by Little's law, of N requests and L jobs that wait. A request with one job at a time leaves at least so many in the queue as there
 * are more requests than threads; several jobs of one side by side make the queue longer, and the ratio smaller.
 */
function predictLongerWait({ base, throughput, maxConcurrency }: Metrics, size: number): Range {
  const waiting = (throughput * (base.inside?.poolMs?.mean ?? 0)) / 1000;
  const queue = Math.max(
    maxConcurrency - countPoolThreads(base, size) - REQUESTS_OUTSIDE_POOL,
    waiting,
    0.5,
  );
  return { low: 1.5, high: 1.25 * (1 + maxConcurrency / queue) };
}

/**
 * Throughput with four times the threads. Of jobs that compute: as far as cores are left (`gain`). Of those that wait: four
 * times as many at once, as far as there are requests for them: one that meets no queue takes what a single request takes,
 * or what its jobs take now one after the other, and the loop.
 */
function predictMoreThreads(metrics: Metrics, size: number, gain: number | null): Range {
  const { throughput, maxConcurrency, loop, unloadedLatencyMs, base } = metrics;
  const most = deriveLoopLimit(metrics) ?? Number.POSITIVE_INFINITY;
  if (gain !== null)
    return { low: throughput * 0.9, high: Math.min(throughput * gain * 1.05, most) };
  const jobMs = (countPoolThreads(base, size) * 1000) / throughput;
  const jobsMs = jobMs + (loop?.busyMs ?? 0);
  const bounded = (aloneMs: number) =>
    widen(Math.min(4 * throughput, (maxConcurrency * 1000) / aloneMs, most), 0.15);
  const { low } = bounded(Math.max(unloadedLatencyMs ?? 0, jobsMs));
  const { high } = bounded(unloadedLatencyMs ?? jobsMs);
  return { low: Math.max(throughput, low), high: Math.max(throughput, high) };
}

/** Of all processes together: each has a pool of its own. */
function countPoolThreads(base: Observation, size: number): number {
  return Math.max(1, findWorkingProcesses(base).length) * size;
}

/** libuv's default size of the pool. */
const DEFAULT_POOL_SIZE = 4;

/** libuv's bound of it. */
const MAX_POOL_SIZE = 1024;

/** Threads of libuv's pool in each process: libuv reads its variable as `atoi` does, and takes 1 to 1024. */
export function readPoolSize({ base }: Metrics): number {
  const configured = base.inside?.threadPoolSize ?? null;
  if (configured === null) return DEFAULT_POOL_SIZE;
  return Math.min(MAX_POOL_SIZE, Math.max(1, Number.parseInt(configured, 10) || 1));
}

/** Threads of the pool that is tried, and proposed: four times as many. */
export function proposePoolSize(metrics: Metrics): number {
  return Math.min(MAX_POOL_SIZE, 4 * readPoolSize(metrics));
}
