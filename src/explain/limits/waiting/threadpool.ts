import { count, plural, rate, time } from '../../../format/units.js';
import type { Interval } from '../../../statistics/types.js';
import {
  buildLoopEvidence,
  deriveLoopLimit,
  SATURATED,
} from '../../hypotheses/event-loop/loop-capacity.js';
import { describeBusyLoop, predictQueueing } from '../../hypotheses/event-loop/queue.js';
import { type Detected, UNBOUNDED_GAIN, widen } from '../../hypotheses/hypothesis.js';
import { detectNameLookups } from '../../hypotheses/machine/name-lookups.js';
import {
  describeCheaperJobs,
  describeJobs,
  findJobKinds,
  usesPoolCpu,
} from '../../hypotheses/machine/pool-jobs.js';
import {
  countPoolThreads,
  listPoolThreads,
  proposePoolSize,
  readPoolSize,
} from '../../hypotheses/machine/pool-size.js';
import { predictPerhapsWithoutCalls } from '../../hypotheses/outbound/calls-from-memory.js';
import type { Metrics } from '../../metrics/types.js';
import type { Limit } from '../limit.js';

export const THREADPOOL = {
  id: 'threadpool',
  group: 'waiting inside',
  text: {
    title: 'The thread pool is full',
    what: 'File access, dns.lookup(), crypto and zlib share the threads of libuv, four by default. Further jobs wait. Name look-ups get at most half of the threads.',
    shows:
      'The loop is idle, requests queue, and a trivial job of the probe waits long for a thread. Look-ups queue while other jobs do not: then most requests in flight have one pending. What the pool runs is counted by the kind of the jobs.',
    experiment:
      "'pool wait, connections x2' measures that the wait grows with the connections. 'thread pool x4' restarts the server with a larger pool: up to x 4 for jobs that wait, as far as the cores allow for jobs that compute.",
    formula: 'maximum = minimum of threads / time per job and cores / CPU time per job',
    remedy:
      'A larger UV_THREADPOOL_SIZE for jobs that wait; fewer or cheaper jobs, or more cores, for jobs that compute.',
    detected: 'by experiment',
    note: "Needs the probe; 'thread pool x4' needs a server that millrace started.",
  },
  detectors: [detectThreadpool, detectNameLookups],
  remedyExperiments: [{ experiment: 'thread-pool-x4' }],
  needsFewResponses: true,
} satisfies Limit;

function detectThreadpool(metrics: Metrics): Detected {
  const limit = 'threadpool';
  const { base, single } = metrics;
  const delay = base.inside?.poolMs;
  if (!delay) return null;
  const before = single?.inside?.poolMs?.mean ?? 0;
  const waits = delay.mean - before;
  const size = readPoolSize(metrics);
  const threads = countPoolThreads(base, size);
  const pool = listPoolThreads(metrics);
  const run = pool.reduce((sum, thread) => sum + thread.run, 0);
  const cores = base.outside?.cpu.cores ?? 1;
  // Many short jobs in sequence, such as those of a compressed stream, wait only briefly each.
  const full = run > 0.6 * Math.min(threads, cores) && waits > 1;
  const busyThreads = pool.filter((thread) => thread.run > 0.5 * (pool[0]?.run ?? 0));
  // One thread of the pool may compute while the others wait in a call: then jobs wait for that one.
  const isQueue = waits > MIN_QUEUE_SHARE * metrics.responseMs;
  const isFew = busyThreads.length < Math.min(threads, pool.length);
  if (!isQueue && isFew && (pool[0]?.run ?? 0) >= SATURATED) {
    return {
      limit,
      why: `${plural(busyThreads.length, 'thread')} other than the event loop's always busy: fewer than the pool has`,
    };
  }
  if (!full && (waits < 2 || waits < 0.1 * metrics.responseMs)) {
    return { limit, why: `a job of the thread pool waits ${time(Math.max(0, delay.mean))}` };
  }
  const loopIsBusy = describeBusyLoop(metrics);
  if (loopIsBusy) return { limit, why: loopIsBusy };
  // In production the probe's job may wait for a core that other programs have.
  if (metrics.isWatched && !usesPoolCpu(metrics) && findJobKinds(metrics).length === 0) {
    return { limit, why: 'no job of the thread pool was seen to run or to wait' };
  }
  const spare = (base.outside?.cpu.idle ?? 0) + run;
  const usesCpu = usesPoolCpu(metrics);
  // Jobs that compute are bounded by the cores, jobs that wait only by the pool.
  const gain = usesCpu ? Math.max(1, Math.min(4, spare / Math.max(run, 0.1))) : 4;
  const predicted: Interval = usesCpu
    ? { low: 0.85, high: Math.max(1.15, gain * 1.15) }
    : {
        low: Math.min(1.5, predictMoreThreads(metrics, size, null).low / metrics.throughput),
        high: 4.3,
      };
  return {
    limit,
    weight: 0.92,
    sentence: `the thread pool${describeJobs(metrics)}: ${threads === 1 ? 'its only thread is' : `all ${count(threads)} threads are`} in use, and a job waits ${time(delay.mean)} for one; ${describeThreads(usesCpu ? run : 0, isFew ? busyThreads.length : null)}.`,
    arithmetic: [
      `${plural(threads, 'thread')} / ${rate(metrics.throughput)} req/s = ${time((threads * 1000) / metrics.throughput)} of a thread per request`,
      usesCpu
        ? `they use ${run.toFixed(2)} of ${cores} cores: a larger pool yields ${gain < 1.15 ? 'nothing, as the cores are the limit' : `at most x ${gain.toFixed(1)}`}`
        : 'a larger pool lets more jobs wait at once',
    ],
    evidence: [
      { what: 'wait for a thread of the pool', value: delay.mean, unit: 'ms', source: 'probe' },
      { what: 'cores used by the pool', value: run, unit: 'cores', source: 'proc' },
      ...buildLoopEvidence(metrics),
    ],
    unlisted: 'unchanged',
    predictions: {
      ...predictQueueing(metrics),
      // Compression may be all that the threads do, or none of it.
      ...(usesCpu && { 'identity-encoding': { low: 0.85, high: UNBOUNDED_GAIN } }),
      'thread-pool-x4': predicted,
      // Its jobs may be the lookups of the calls.
      ...predictPerhapsWithoutCalls(metrics),
      'second-process': {
        low: 0.85,
        high: usesCpu ? Math.max(1.15, 1.15 * computeMaxShare(metrics, run)) : 2.15,
      },
      'pool-wait-connections-x2': predictLongerWait(metrics),
    },
    remedy: {
      change:
        usesCpu && gain < 1.15
          ? `${describeCheaperJobs(metrics)}, or more cores; a larger pool does not help`
          : `UV_THREADPOOL_SIZE=${proposePoolSize(metrics)}`,
      // The gain of cheaper jobs depends on how cheap they are.
      predictedThroughput:
        usesCpu && gain < 1.15 ? null : predictMoreThreads(metrics, size, usesCpu ? gain : null),
      nextLimit: usesCpu ? null : 'event-loop-cpu',
      settings: { environment: { UV_THREADPOOL_SIZE: String(proposePoolSize(metrics)) } },
    },
  };
}

/**
 * Computes the ratio of the cores that two processes may get to those that the pool uses: idle cores, also those of
 * later blocks, and those of other programs, which share them equally. At most twice.
 */
function computeMaxShare({ base, machine }: Metrics, run: number): number {
  const idle = Math.max(base.outside?.cpu.idle ?? 0, machine?.cpu.idle ?? 0);
  const others = Math.max(base.outside?.cpu.others ?? 0, machine?.cpu.others ?? 0);
  return Math.min(2, (idle + others + run) / Math.max(0.1, run));
}

/** Describes what the threads do, and how many (`few`) if not all of them compute. */
function describeThreads(cores: number, few: number | null): string {
  if (cores === 0) return 'the threads wait and do not compute';
  const who =
    few === null ? 'they compute' : `only ${few} of them ${few === 1 ? 'computes' : 'compute'}`;
  return `${who}, on ${cores.toFixed(1)} cores`;
}

/** Minimum share of the response time for which a job waits for a thread, so that the pool is the queue. */
const MIN_QUEUE_SHARE = 0.5;

/**
 * Predicts the ratio by which jobs wait longer with twice the requests. As all threads are in use, the further requests
 * wait in the queue too: by Little's law (L + N) / L, for N requests and L waiting jobs. L is at least the wait of a job
 * times the requests per second; it is less than the requests beyond the threads where some are between two jobs.
 */
function predictLongerWait({ base, throughput, maxConcurrency }: Metrics): Interval {
  const queue = Math.max(0.5, (throughput * (base.inside?.poolMs?.mean ?? 0)) / 1000);
  const high = 1.25 * (1 + maxConcurrency / queue);
  return { low: Math.min(1.5, high), high };
}

/**
 * Predicts throughput with four times the threads. Jobs that compute gain as far as cores are left (`gain`). Of jobs
 * that wait four times as many can wait at once, as far as there are requests: one without a queue takes as long as a
 * single request, or as its jobs in sequence plus its time on the loop.
 */
function predictMoreThreads(metrics: Metrics, size: number, gain: number | null): Interval {
  const { throughput, maxConcurrency, loop, unloadedLatencyMs, base } = metrics;
  const loopLimit = deriveLoopLimit(metrics) ?? Number.POSITIVE_INFINITY;
  if (gain !== null)
    return { low: throughput * 0.9, high: Math.min(throughput * gain * 1.05, loopLimit) };
  const jobMs = (countPoolThreads(base, size) * 1000) / throughput;
  const jobsMs = jobMs + (loop?.busyMs ?? 0);
  const bounded = (aloneMs: number) =>
    widen(Math.min(4 * throughput, (maxConcurrency * 1000) / aloneMs, loopLimit), 0.15);
  const { low } = bounded(Math.max(unloadedLatencyMs ?? 0, jobsMs));
  const { high } = bounded(unloadedLatencyMs ?? jobsMs);
  return { low: Math.max(throughput, low), high: Math.max(throughput, high) };
}
