import type { Metrics } from '../../metrics/types.js';
import type { PoolJobs } from '../../observe/probe/pool-jobs.js';
import { countPoolThreads, listPoolThreads, readPoolSize } from './pool-size.js';

/** Counts the name look-ups (`dns.lookup`) that are pending on average: running in the thread pool or queued for it. */
export function countPendingLookups({ base }: Metrics): number {
  const { GetAddrInfoReqWrap = 0, GetNameInfoReqWrap = 0 } = base.inside?.resources ?? {};
  return GetAddrInfoReqWrap + GetNameInfoReqWrap;
}

/** Kinds of jobs in words, with what makes them fewer or cheaper. */
const JOB_WORDS: Record<keyof PoolJobs, { name: string; cheaper: string }> = {
  compression: {
    name: 'compression (zlib)',
    cheaper: 'less compression (a lower level, responses compressed once and kept)',
  },
  cryptography: {
    name: 'cryptography (crypto)',
    cheaper: 'fewer or cheaper jobs of crypto (a lower cost factor, a result that is kept)',
  },
  files: { name: 'file access (fs)', cheaper: 'fewer or larger accesses to files, or a cache' },
  lookups: {
    name: 'name look-ups (dns.lookup)',
    cheaper: 'fewer name look-ups (an agent with keepAlive, addresses that are kept for a while)',
  },
};

/** Minimum share of the jobs at which a kind of job is named. */
const MIN_JOB_SHARE = 0.2;

/**
 * Finds what the pool runs, the most first. Jobs that wait were sampled as pending requests; jobs that compute are
 * known only once they were counted, and only those of compression and cryptography compute.
 */
export function findJobKinds(metrics: Metrics): (keyof PoolJobs)[] {
  const { base, poolJobs } = metrics;
  const { FSReqCallback = 0, FSReqPromise = 0 } = base.inside?.resources ?? {};
  const pending = { files: FSReqCallback + FSReqPromise, lookups: countPendingLookups(metrics) };
  // The probe's own trivial job is a file access.
  const isWaiting = pending.files + pending.lookups > 1 + 0.3 * metrics.inFlight;
  const seen = isWaiting ? pending : usesPoolCpu(metrics) ? pickComputing(poolJobs) : poolJobs;
  const entries = Object.entries(seen ?? {}) as [keyof PoolJobs, number][];
  const all = entries.reduce((sum, [, jobs]) => sum + jobs, 0);
  return entries
    .filter(([, jobs]) => jobs > 0 && jobs >= MIN_JOB_SHARE * all)
    .sort((a, b) => b[1] - a[1])
    .map(([kind]) => kind);
}

/** The jobs that compute. Where there are none of them, files may be read from memory. */
function pickComputing(jobs: PoolJobs | null): Partial<PoolJobs> | null {
  if (!jobs) return null;
  const { compression, cryptography } = jobs;
  return compression + cryptography > 0 ? { compression, cryptography } : jobs;
}

/** Describes what the pool runs; empty if it is unknown. */
export function describeJobs(metrics: Metrics): string {
  const kinds = findJobKinds(metrics).map((kind) => JOB_WORDS[kind].name);
  return kinds.length === 0 ? '' : `, which runs ${kinds.join(' and ')}`;
}

/** Describes how its jobs become fewer or cheaper. */
export function describeCheaperJobs(metrics: Metrics): string {
  const kinds = findJobKinds(metrics).map((kind) => JOB_WORDS[kind].cheaper);
  return kinds.length === 0
    ? 'fewer or cheaper jobs (a lower cost factor, a cache)'
    : kinds.join('; ');
}

/** Minimum share of the cores or threads that jobs use if they compute. */
const MIN_COMPUTING_SHARE = 0.3;

/** Whether the jobs of the pool compute, by the CPU time of its threads. */
export function usesPoolCpu(metrics: Metrics): boolean {
  const { base } = metrics;
  const threads = countPoolThreads(base, readPoolSize(metrics));
  const run = listPoolThreads(metrics).reduce((sum, thread) => sum + thread.run, 0);
  return run > MIN_COMPUTING_SHARE * Math.min(threads, base.outside?.cpu.cores ?? 1);
}
